import { execFileSync } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import { symlink } from 'node:fs/promises';
import { delimiter, join, resolve } from 'node:path';
import { temporaryFolder, type TemporaryFolder } from '@svc/testkit';

export interface NodeExecutable {
  readonly path: string;
  readonly version: string;
}

export const OWN_NODE: NodeExecutable = { path: process.execPath, version: process.versions.node };

/** Throws a TypeError for what is no Node.js. */
export function nodeExecutable(given: string): NodeExecutable {
  const path = resolve(given);
  let said: string;
  try {
    accessSync(path, constants.X_OK);
    said = execFileSync(path, ['--version'], { encoding: 'utf8', timeout: 10_000 }).trim();
  } catch {
    throw new TypeError(`--node: cannot run ${given}; name the executable of a Node.js`);
  }
  if (!/^v\d+\.\d+\.\d+/.test(said)) throw new TypeError(`--node: ${given} is no Node.js`);
  return { path, version: said.slice(1) };
}

/** A value of PATH with which `#!/usr/bin/env node` starts this executable, whatever its own name. */
export async function pathWith({ path }: NodeExecutable): Promise<{
  readonly PATH: string;
  /** Holds the link that it needs. */
  readonly folder: TemporaryFolder;
}> {
  const folder = await temporaryFolder('node');
  await symlink(path, join(folder.path, 'node'));
  return { PATH: [folder.path, process.env['PATH'] ?? ''].join(delimiter), folder };
}
