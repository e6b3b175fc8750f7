import type { LoadedServices } from '../config/load.ts';
import type { ServiceConfig } from '../config/model.ts';
import type { ReadFile } from '../config/read-settings.ts';
import type { Observe } from '../telemetry/events.ts';
import { changesBetween } from './changes.ts';
import { watchFiles, type FileWatch } from './watch-files.ts';

export interface ReloadOptions {
  readonly paths: readonly string[];
  /** Loads all services from the settings and these contents, or returns everything that is wrong. */
  readonly load: (readFile: ReadFile) => LoadedServices;
  /** The services that were loaded at the start. */
  readonly services: readonly ServiceConfig[];
  /** Gets all services when any of them has changed. */
  readonly apply: (services: readonly ServiceConfig[]) => void;
  readonly observe: Observe;
  readonly intervalMs?: number;
}

/** Takes over the contents of the files of keys and services whenever they change: all of them, or none if any is faulty. */
export function reloadServices(options: ReloadOptions): FileWatch {
  const { paths, load, apply, observe } = options;
  let { services } = options;
  let failed = false;

  function onContent(readFile: ReadFile): void {
    const loaded = load(readFile);
    if ('faults' in loaded) {
      failed = true;
      const faults = loaded.faults.map(({ setting, message }) => `${setting}: ${message}`);
      observe({ event: 'keys_reload_failed', faults: faults.length, message: faults.join('\n') });
      return;
    }
    const changes = changesBetween(services, loaded.services);
    if (changes === undefined && !failed) return;
    failed = false;
    if (changes !== undefined) {
      ({ services } = loaded);
      apply(services);
    }
    const keys = services.reduce((sum, service) => sum + service.keys.length, 0);
    observe({ event: 'keys_reloaded', services: services.length, keys, ...changes });
    for (const message of loaded.warnings) observe({ event: 'config_warning', message });
  }

  return watchFiles(paths, onContent, options.intervalMs);
}
