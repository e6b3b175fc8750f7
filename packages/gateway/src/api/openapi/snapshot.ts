import { rename, writeFile, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { createInOrder, errorText, type Sliced } from '@svc/edge';
import { DEFAULT_SERVICE, type Description } from '@svc/protocol';
import type { Catalog } from '../../catalog/catalog.ts';
import { makeOf } from '../../catalog/long-descriptions.ts';
import type { Observe } from '../../telemetry/events.ts';
import { renderDocument, type DocumentOptions } from './document.ts';

export interface SnapshotSource {
  readonly id: string;
  readonly catalog: Catalog;
  readonly described: () => DocumentOptions;
}

export type WriteSnapshot = (service: string, bytes: Uint8Array) => void;

/** GATEWAY_EMIT_OPENAPI_SNAPSHOT: each new description is also written, with everything that any caller may see. */
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

/** Replaces `openapi.json`, or `openapi.<service>.json` of another service than the default one, as a whole. */
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

/** A gateway that was killed while it wrote leaves a draft. */
async function removeAbandonedDrafts(folder: string, file: string): Promise<void> {
  // A writable folder may be unreadable.
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
    // EPERM: alive, but of another account.
    return !(error instanceof Error && 'code' in error && error.code === 'ESRCH');
  }
}

/** A draft that cannot be removed does no harm. */
async function remove(path: string): Promise<void> {
  await rm(path, { force: true }).catch(() => {});
}
