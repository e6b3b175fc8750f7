import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';

/** Where servers are, which the PATH of ordinary users leaves out. */
const SERVERS = ['/usr/sbin', '/usr/local/sbin'];

/** The full path of a program on the PATH, or among the servers; undefined when there is none. */
export function findProgram(name: string): string | undefined {
  return [...(process.env['PATH'] ?? '').split(delimiter).filter((folder) => folder !== ''), ...SERVERS]
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
