import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** The folder where workers of a replica listen for each other. Only the user of the gateway can look into it. */
export interface SocketFolder {
  readonly path: string;
  /** A new path for each start of the worker. */
  newPath(worker: number): string;
  /** Removes the socket of a worker that has ended, in whatever way. */
  forget(worker: number): void;
  remove(): void;
}

/** The path of a Unix socket may have some 100 bytes, on macOS 104 including the final zero. */
const FOLDER_MAX_BYTES = 80;

const PREFIX = 'svc-gateway-';
/** What mkdtemp appends. */
const RANDOM_BYTES = 6;

export function createSocketFolder(parent: string = tmpdir()): SocketFolder {
  const isShort = Buffer.byteLength(join(parent, PREFIX)) + RANDOM_BYTES < FOLDER_MAX_BYTES;
  const folder = mkdtempSync(join(isShort ? parent : '/tmp', PREFIX));
  const paths = new Map<number, string>();
  let starts = 0;
  const forget = (worker: number): void => {
    const path = paths.get(worker);
    if (path !== undefined) rmSync(path, { force: true });
    paths.delete(worker);
  };
  return {
    path: folder,
    newPath(worker) {
      forget(worker);
      const path = join(folder, `${worker}-${++starts}`);
      paths.set(worker, path);
      return path;
    },
    forget,
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}
