import { spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Writable } from 'node:stream';
import { fileURLToPath } from 'node:url';

/**
 * Cleans up after this process when it dies without a chance to do so itself, SIGKILL included. It is one child
 * process, started at the first use, that ends soon after this one.
 */
export interface Watchdog {
  /** Ends the process with `signal`, and by force five seconds later. It must lead its process group. */
  guard(pid: number, signal: NodeJS.Signals): void;
  /** The process has ended: its id may belong to another one soon. */
  release(pid: number): void;
  /** Removes the folder and everything in it. */
  remove(folder: string): void;
  removed(folder: string): void;
}

let running: Watchdog | undefined;

export async function watchdog(): Promise<Watchdog> {
  running ??= await startWatchdog();
  return running;
}

async function startWatchdog(): Promise<Watchdog> {
  const child = spawn(process.execPath, [fileURLToPath(new URL('watchdog-main.mjs', import.meta.url))], {
    cwd: '/',
    // Ctrl-C reaches every process of the terminal's group; the watchdog has to go on after it.
    detached: true,
    env: {},
    stdio: ['pipe', 'ignore', 'ignore'],
    windowsHide: true,
  });
  await once(child, 'spawn');
  child.unref();
  const orders: Writable & { unref?: () => void } = child.stdin;
  orders.unref?.();
  // Without a watchdog everything still works; only a violent death would leave something behind.
  orders.on('error', () => {});
  const send = (order: Record<string, string | number>): void => {
    orders.write(`${JSON.stringify(order)}\n`);
  };
  return {
    guard: (pid, signal) => send({ guard: pid, signal }),
    release: (pid) => send({ release: pid }),
    remove: (folder) => send({ remove: folder }),
    removed: (folder) => send({ removed: folder }),
  };
}
