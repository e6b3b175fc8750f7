import { closeSync, constants, fstatSync, openSync, readFileSync, type Stats } from 'node:fs';
import { open } from 'node:fs/promises';

/** More than any such file needs. */
const MAX_BYTES = 64 * 1024 * 1024;
/** Without O_NONBLOCK, opening a pipe without a writer would never end. */
const READ_ONLY = constants.O_RDONLY | constants.O_NONBLOCK;

/**
 * Reads a file for a running agent. A pipe or a device may have replaced it: reading that may never end, and no call would be
 * answered meanwhile. Throws the errors of `readFileSync`, and others with codes of their kind.
 */
export function readRegularFile(name: string): Uint8Array {
  const descriptor = openSync(name, READ_ONLY);
  try {
    refuseEndless(fstatSync(descriptor));
    return readFileSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

/** The same without blocking the event loop. */
export async function readRegularFileLater(name: string): Promise<Uint8Array> {
  const handle = await open(name, READ_ONLY);
  try {
    refuseEndless(await handle.stat());
    return await handle.readFile();
  } finally {
    await handle.close();
  }
}

/** Reading a folder fails by itself. */
function refuseEndless(stats: Stats): void {
  if (!stats.isFile() && !stats.isDirectory()) throw failure('ENOTREG', 'not a regular file');
  if (stats.size > MAX_BYTES) throw failure('EFBIG', 'file too large');
}

function failure(code: string, message: string): Error {
  return Object.assign(new Error(message), { code });
}
