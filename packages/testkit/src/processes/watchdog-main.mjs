// Runs as a process of its own. It reads what to clean up from standard input, one JSON object a line, and
// acts when that input ends: the process at its other end is gone, however it died.
import { readFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { createInterface } from 'node:readline';

// Without a listener SIGUSR1 opens Node's debugger to everybody on the machine.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGUSR1', 'SIGUSR2']) process.on(signal, () => {});

const guarded = new Map();
const folders = new Set();

for await (const line of createInterface({ input: process.stdin })) {
  const order = JSON.parse(line);
  if (order.guard !== undefined) guarded.set(order.guard, order.signal);
  if (order.release !== undefined) guarded.delete(order.release);
  if (order.remove !== undefined) folders.add(order.remove);
  if (order.removed !== undefined) folders.delete(order.removed);
}

// The youngest first: what was started later depends on what was started before.
for (const [pid, signal] of [...guarded].toReversed()) {
  send(pid, signal);
  const deadline = Date.now() + 5000;
  while (isRunning(pid) && Date.now() < deadline) await new Promise((resolve) => setTimeout(resolve, 20));
  send(-pid, 'SIGKILL');
  send(pid, 'SIGKILL');
}
for (const folder of folders) {
  await rm(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 }).catch(() => {});
}

function send(pid, signal) {
  try {
    return process.kill(pid, signal);
  } catch {
    return false;
  }
}

function isRunning(pid) {
  if (!send(pid, 0)) return false;
  try {
    // A dead process stays in the table for as long as its new parent takes no notice.
    return !/\) [ZX] /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  } catch {
    return true;
  }
}
