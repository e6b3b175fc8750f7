import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';

/** Not all of them are on the path of every user. */
const FURTHER_FOLDERS = ['/usr/sbin', '/sbin', '/usr/local/sbin'];

/** Where a program of the system is; undefined where it is not installed. */
export function findProgram(name: string): string | undefined {
  const folders = [...(process.env['PATH'] ?? '').split(delimiter), ...FURTHER_FOLDERS];
  return folders
    .filter((folder) => folder !== '')
    .map((folder) => join(folder, name))
    .find(isExecutable);
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
