import { createHash } from 'node:crypto';
import { lstat, mkdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { canEnter, serverAccount, temporaryFolder, type Releasers } from '../packages/testkit/src/index.ts';

/** The folder of the demo's files. */
export interface Home {
  readonly folder: string;
  /** Whether the folder stays for the next start. */
  readonly kept: boolean;
}

export async function openHome(root: string, keep: boolean, releasers: Releasers): Promise<Home> {
  if (!keep) {
    const temporary = await temporaryFolder('demo');
    await releasers.add(() => temporary.remove());
    return { folder: temporary.path, kept: false };
  }
  const folder = await keptFolder(root);
  await mkdir(folder, { recursive: true });
  return { folder, kept: true };
}

/** In the repository, unless the account that PostgreSQL runs under may not read it. */
async function keptFolder(root: string): Promise<string> {
  if (await canEnter(root, await serverAccount())) return join(root, '.cache', 'demo');
  const id = createHash('sha256').update(root).digest('hex').slice(0, 12);
  const folder = join(tmpdir(), `svc-demo-${id}`);
  // Another user could have created a folder of this name there, to read our files.
  const found = await lstat(folder).catch(() => undefined);
  if (found !== undefined && (!found.isDirectory() || found.uid !== process.getuid?.())) {
    throw new Error(`cannot keep the data in ${folder}: it belongs to somebody else; remove it`);
  }
  return folder;
}
