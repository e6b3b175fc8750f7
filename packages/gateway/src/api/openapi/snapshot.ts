import { rename, writeFile, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { DEFAULT_SERVICE } from '@svc/protocol';
import type { Catalog } from '../../catalog/catalog.ts';
import type { Observe } from '../../telemetry/events.ts';
import { renderDocument, type DocumentOptions } from './document.ts';

/** The service whose description is written. */
export interface SnapshotSource {
  readonly id: string;
  readonly catalog: Catalog;
  readonly described: () => DocumentOptions;
}

/** As many digits as a process id has. */
const DRAFT = /^(.*)\.(\d{1,7})\.tmp$/;

/**
 * GATEWAY_EMIT_OPENAPI_SNAPSHOT: each newly cached description of a service is also written to `openapi.json` in
 * `folder`, or `openapi.<service>.json`, whole or not at all, with all that anybody may see.
 */
export function keepSnapshot(
  { id, catalog, described }: SnapshotSource,
  observe: Observe,
  folder: string,
): void {
  const file = id === DEFAULT_SERVICE ? 'openapi.json' : `openapi.${id}.json`;
  let last = Promise.resolve();
  catalog.onDescription((description) => {
    const { bytes } = renderDocument(description, () => true, described());
    last = last
      .then(() => replace(folder, file, bytes))
      .catch((error: unknown) => {
        const message = error instanceof Error ? error.message : String(error);
        observe({ event: 'config_warning', message: `cannot write ${file}: ${message}` });
      });
  });
}

async function replace(folder: string, name: string, bytes: Buffer): Promise<void> {
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

/** Of gateways that were killed while they wrote. */
async function removeAbandonedDrafts(folder: string, file: string): Promise<void> {
  // A folder that may be written need not be readable.
  const names = await readdir(folder).catch(() => []);
  for (const name of names) {
    const [, of, pid] = DRAFT.exec(name) ?? [];
    if (of === file && pid !== undefined && !isAlive(Number(pid))) await remove(join(folder, name));
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
