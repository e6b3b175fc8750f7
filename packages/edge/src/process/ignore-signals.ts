import { isMainThread } from 'node:worker_threads';

/**
 * Makes `signals` do nothing in this process: without a listener SIGUSR1 opens Node's debugger to everybody on the
 * machine, and the others end the process. To be called before anything else is imported.
 */
export function ignoreSignals(...signals: NodeJS.Signals[]): void {
  // A thread gets none.
  if (!isMainThread) return;
  for (const signal of signals) process.on(signal, () => {});
  closeDebugger();
}

/**
 * For a process that this one starts: no SIGUSR1 opens the debugger, not even while Node.js itself starts. Empty for a
 * Node.js that does not know the flag.
 */
export const WITHOUT_DEBUGGER: readonly string[] = ['--disable-sigusr1'].filter((flag) =>
  process.allowedNodeEnvironmentFlags.has(flag),
);

/** A SIGUSR1 during the start of Node.js has opened the debugger. A user who wants it starts Node.js with --inspect. */
function closeDebugger(): void {
  const flags = [...process.execArgv, process.env['NODE_OPTIONS'] ?? ''];
  if (!process.features.inspector || flags.some((flag) => flag.includes('--inspect'))) return;
  const { close } = process.getBuiltinModule('node:inspector');
  close();
  // Node.js may still be about to open it.
  setImmediate(close);
}
