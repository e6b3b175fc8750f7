import { hash } from 'node:crypto';
import { constants } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { watchFiles, type FileWatch } from '@svc/edge';
import type { LoadedServices } from '../config/load.ts';
import type { ServiceConfig } from '../config/model.ts';
import type { ReadFile } from '../config/read-settings.ts';
import type { Observe } from '../telemetry/events.ts';
import { changesBetween } from './changes.ts';

type Content = { readonly bytes: Buffer } | { readonly error: unknown };

const INTERVAL_MS = 2000;
/** Without O_NONBLOCK, opening a pipe in place of a file would never end. */
const READ_ONLY = constants.O_RDONLY | constants.O_NONBLOCK;

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

  let seen: string | undefined;
  const watch = watchFiles({
    async read() {
      const contents = await Promise.all(paths.map(contentOf));
      return { contents, digest: contents.map(digestOf).join(' ') };
    },
    isNews: ({ digest }) => digest !== seen,
    onNews({ contents, digest }) {
      seen = digest;
      onContent((path) => textOf(contents[paths.indexOf(path)]));
    },
    intervalMs: options.intervalMs ?? INTERVAL_MS,
  });
  watch.look();
  return watch;
}

async function contentOf(path: string): Promise<Content> {
  try {
    return { bytes: await readFile(path, { flag: READ_ONLY }) };
  } catch (error) {
    return { error };
  }
}

function digestOf(content: Content): string {
  if ('bytes' in content) return hash('sha256', content.bytes, 'base64');
  const { error } = content;
  return error instanceof Error && 'code' in error ? String(error.code) : 'unreadable';
}

function textOf(content: Content | undefined): string {
  if (content === undefined) throw new Error('the file is not watched');
  if ('error' in content) throw content.error;
  return content.bytes.toString();
}
