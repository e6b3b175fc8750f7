import type { LoadedServices } from '../config/load.ts';
import type { ServiceConfig } from '../config/model.ts';
import type { ReadFile } from '../config/read-settings.ts';
import type { Observe } from '../telemetry/events.ts';
import { changesBetween } from './changes.ts';
import { watchFiles, type FileWatch } from './watch-files.ts';

export interface ReloadOptions {
  readonly paths: readonly string[];
  /** All services as the settings and these contents have them, or everything that is wrong. */
  readonly load: (readFile: ReadFile) => LoadedServices;
  /** As they were loaded at the start. */
  readonly services: readonly ServiceConfig[];
  /** Gets all of them when any of them is different. */
  readonly apply: (services: readonly ServiceConfig[]) => void;
  readonly observe: Observe;
  readonly intervalMs?: number;
}

/** Takes what the files of keys and services hold, all of it or nothing, whenever that changes. */
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
