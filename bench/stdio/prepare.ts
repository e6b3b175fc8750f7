import { stat } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { runProcess, SVC, temporaryFolder } from '@svc/testkit';
import type { NodeExecutable } from '../contestants/node-executable.ts';

/** In units of 1,048,576 bytes. */
export interface Sizes {
  /** Of `dist/svc`. */
  readonly executable: number;
  /** Of the package for npm, which has all programs. */
  readonly tarball: number;
}

/** What users get, and the Node.js that runs it here: that of the packaged executables. */
export async function prepare(): Promise<{ readonly sizes: Sizes; readonly node: NodeExecutable }> {
  const folder = await temporaryFolder('tarball');
  try {
    const program = fileURLToPath(new URL('prepare.mjs', import.meta.url));
    const options = { env: process.env, withinMs: 600_000 };
    const { code, stdout, stderr } = await runProcess(process.execPath, [program, folder.path], options);
    if (code !== 0) throw new Error(`cannot make the package for npm: ${stderr}`);
    const { tarball, node }: { tarball: string; node: NodeExecutable } = JSON.parse(stdout);
    return { node, sizes: { executable: await megabytes(SVC), tarball: await megabytes(tarball) } };
  } finally {
    await folder.remove();
  }
}

async function megabytes(file: string): Promise<number> {
  return (await stat(file)).size / 2 ** 20;
}
