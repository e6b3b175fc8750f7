import { existsSync } from 'node:fs';
import { mkdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { runProcess, temporaryFolder, type Executables, type Releasers } from '@svc/testkit';
import { say } from '../report/options.ts';
import type { NodeExecutable } from './node-executable.ts';

/** The commit of the release before, which figures of this one are compared with. */
export const RELEASE_BEFORE = '666e19e';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const WITHIN_MS = 900_000;

/** The executables of this checkout as its packages have them, and the Node.js that is in them. */
export async function packageExecutables(
  releasers: Releasers,
): Promise<{ readonly executables: Executables; readonly node: NodeExecutable }> {
  const folder = await temporaryFolder('executables');
  await releasers.add(() => folder.remove());
  const node = await make(ROOT, folder.path);
  return { executables: executablesIn(join(folder.path, 'binaries')), node };
}

/** Those of the release before, made once from its commit and kept where git sees nothing. */
export async function releaseBefore(node: NodeExecutable): Promise<Executables> {
  const kept = join(ROOT, '.cache/bench', RELEASE_BEFORE);
  if (existsSync(kept)) return executablesIn(kept);
  say(`Packaging the release before, ${RELEASE_BEFORE}; this takes some two minutes, once ...`);
  const draft = `${kept}.${process.pid}.tmp`;
  const archive = join(draft, 'checkout.tar');
  try {
    await mkdir(draft, { recursive: true });
    await run('git', ['-C', ROOT, 'archive', '--prefix', 'checkout/', '--output', archive, RELEASE_BEFORE]);
    await run('tar', ['-xf', archive, '-C', draft]);
    await make(join(draft, 'checkout'), join(draft, 'made'), node);
    await rename(join(draft, 'made/binaries'), kept);
  } finally {
    await rm(draft, { recursive: true, force: true });
  }
  return executablesIn(kept);
}

function executablesIn(folder: string): Executables {
  return { gateway: join(folder, 'svc-gateway'), agent: join(folder, 'svc-agent') };
}

async function make(checkout: string, folder: string, node?: NodeExecutable): Promise<NodeExecutable> {
  const program = fileURLToPath(new URL('package-executables.mjs', import.meta.url));
  return JSON.parse(
    await run(process.execPath, [program, checkout, folder, ...(node === undefined ? [] : [node.path])]),
  );
}

/** What it printed; rejects when it fails, as `git archive` without the commit in a clone that is not whole. */
async function run(program: string, args: readonly string[]): Promise<string> {
  const options = { env: process.env, withinMs: WITHIN_MS };
  const { code, stdout, stderr } = await runProcess(program, args, options);
  if (code !== 0) throw new Error(`cannot package the executables: ${program} ended with ${code}\n${stderr}`);
  return stdout;
}
