import { rmSync } from 'node:fs';
import { constants } from 'node:os';

/** Removes the folders when the process ends, however it ends but by SIGKILL. */
export function removeAtEnd(...folders) {
  process.once('exit', () => {
    for (const folder of folders) rmSync(folder, { recursive: true, force: true });
  });
}

/** Without it a signal would end the process with nothing removed. */
export function stopOnSignals() {
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
    // Last, so that whoever waits for a program stops it first.
    process.once(signal, () => setImmediate(() => process.exit(128 + constants.signals[signal])));
  }
}
