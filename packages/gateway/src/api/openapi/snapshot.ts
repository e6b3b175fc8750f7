import { rename, writeFile, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { createInOrder, errorText, type Sliced } from '@svc/edge';
import { DEFAULT_SERVICE, type Description } from '@svc/protocol';
import type { Catalog } from '../../catalog/catalog.ts';
import { makeOf } from '../../catalog/long-descriptions.ts';
import type { Observe } from '../../telemetry/events.ts';
import { renderDocument, type DocumentOptions } from './document.ts';

/** The service whose description is written. */
export interface SnapshotSource {
  readonly id: string;
  readonly catalog: Catalog;
  /** As it is now. */
  readonly described: () => DocumentOptions;
}

/** Writes what a service describes; each waits for the one before. */
export type WriteSnapshot = (service: string, bytes: Uint8Array) => void;

/** GATEWAY_EMIT_OPENAPI_SNAPSHOT: each newly cached description is also written, with all that anybody may see. */
export function keepSnapshot({ id, catalog, described }: SnapshotSource, write: WriteSnapshot): void {
  const inOrder = createInOrder();
  catalog.onDescription((description) => {
    inOrder(() => makeOf(description, writeDescribed(description)));
  });

  function* writeDescribed(description: Description): Sliced<void> {
    const { bytes } = yield* renderDocument(description, () => true, described());
    write(id, bytes);
  }
}

/** To `openapi.json`, for another service than the default one `openapi.<service>.json`, in `folder`: whole or not at all. */
export function createSnapshotWriter(folder: string, observe: Observe): WriteSnapshot {
  let last = Promise.resolve();
  return (service, bytes) => {
    const name = service === DEFAULT_SERVICE ? 'openapi.json' : `openapi.${service}.json`;
    last = last
      .then(() => replace(folder, name, bytes))
      .catch((error: unknown) => {
        observe({ event: 'config_warning', message: `cannot write ${name}: ${errorText(error)}` });
      });
  };
}

async function replace(folder: string, name: string, bytes: Uint8Array): Promise<void> {
  await removeAbandonedDrafts(folder, name);
  const file = join(folder, name);
  const draft = `${file}.${process.pid}.tmp`;
  try {
    await writeFile(draft, bytes);
    await rename(draft, file);
  } catch (error) {
    await remove(draft);
    throw error;
  }
}

/** As many digits as a process id has. */
const DRAFT = /^\.(\d{1,7})\.tmp$/;

/** Of gateways that were killed while they wrote. */
async function removeAbandonedDrafts(folder: string, file: string): Promise<void> {
  // A folder that may be written need not be readable.
  const names = await readdir(folder).catch(() => []);
  for (const name of names) {
    const [, pid] = name.startsWith(file) ? (DRAFT.exec(name.slice(file.length)) ?? []) : [];
    if (pid !== undefined && !isAlive(Number(pid))) await remove(join(folder, name));
  }
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    // EPERM: alive, and another account's.
    return !(error instanceof Error && 'code' in error && error.code === 'ESRCH');
  }
}

/** What stays behind harms nobody, and what is wrong with the folder has been told or will be. */
async function remove(path: string): Promise<void> {
  await rm(path, { force: true }).catch(() => {});
}
