import { chown, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { watchdog } from './processes/watchdog.ts';

/** What every temporary folder of ours is called: this, the purpose, and something random. */
export const temporaryPrefix = 'svc-tmp-';

export interface TemporaryFolder {
  readonly path: string;
  remove(): Promise<void>;
}

/** A new folder that only its owner may enter; removed at the latest when this process is gone. */
export async function temporaryFolder(
  purpose: string,
  options: {
    /** Default: the system's folder for temporary files. */
    readonly parent?: string;
    readonly owner?: { readonly uid: number; readonly gid: number } | undefined;
  } = {},
): Promise<TemporaryFolder> {
  const { parent = tmpdir(), owner } = options;
  const guardian = await watchdog();
  const path = await mkdtemp(join(parent, `${temporaryPrefix}${purpose}-`));
  guardian.remove(path);
  if (owner !== undefined) await chown(path, owner.uid, owner.gid);
  return {
    path,
    remove: async () => {
      await rm(path, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
      guardian.removed(path);
    },
  };
}
