import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { startProcess, type RunningProcess } from './processes/start-process.ts';
import { temporaryFolder } from './temporary-folder.ts';

export interface SmallDisk {
  readonly path: string;
  /** Leaves `bytes` of it free, in whole pages. */
  fill(bytes: number): Promise<void>;
  empty(): Promise<void>;
  remove(): Promise<void>;
}

const MEBIBYTE = 1024 * 1024;

/**
 * A real disk of 1 MiB that can be full, in a mount namespace that ends with its process; or why this machine cannot have
 * one.
 */
export async function smallDisk(): Promise<SmallDisk | string> {
  if (process.platform !== 'linux') return 'only Linux has mount namespaces';
  const folder = await temporaryFolder('small-disk');
  const script = `mount -t tmpfs -o size=${MEBIBYTE} svc-small-disk "$1" && echo mounted && exec sleep 3600`;
  const namespace = process.getuid?.() === 0 ? ['-m'] : ['-U', '-r', '-m'];
  let started: RunningProcess | undefined;
  try {
    started = await startProcess('unshare', [...namespace, 'sh', '-c', script, 'sh', folder.path]);
    await started.waitForLine((line) => line === 'mounted');
  } catch (error) {
    await started?.stop();
    await folder.remove();
    return `a file system cannot be mounted here: ${error instanceof Error ? error.message : String(error)}`;
  }
  const holder = started;
  const path = `/proc/${holder.pid}/root${folder.path}`;
  const filler = join(path, 'filler');
  return {
    path,
    fill: (bytes) => writeFile(filler, Buffer.alloc(MEBIBYTE - bytes)),
    empty: () => rm(filler, { force: true }),
    async remove() {
      await holder.stop();
      await folder.remove();
    },
  };
}
