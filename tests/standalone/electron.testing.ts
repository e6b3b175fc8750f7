import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';

const PRELOAD = `'use strict';
const versions = Object.freeze({ ...process.versions, electron: '38.1.2' });
Object.defineProperty(process, 'versions', { value: versions });
process.execPath = '/nowhere/application';
`;

/**
 * The start of a command line that runs a program as Electron does: the executable is an application and starts nothing.
 * `folder` gets a file that lasts as long as the process.
 */
export async function asInElectron(folder: string): Promise<readonly [string, ...string[]]> {
  const file = join(folder, 'electron.cjs');
  await writeFile(file, PRELOAD);
  return [process.execPath, '--require', file];
}
