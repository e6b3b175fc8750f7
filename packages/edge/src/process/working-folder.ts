import { realpathSync } from 'node:fs';
import { Worker } from 'node:worker_threads';

/**
 * To be called before a thread or a process is started: Node.js starts neither in a working folder that was removed, nor
 * does it ever come back, since a new one of its name is another. So this process moves to the root.
 */
export function leaveRemovedFolder(): void {
  try {
    // Node.js remembers what `process.cwd` said.
    realpathSync.native('.');
  } catch {
    process.chdir('/');
  }
}

export function startThread(code: string): Worker {
  leaveRemovedFolder();
  return new Worker(code, { eval: true });
}
