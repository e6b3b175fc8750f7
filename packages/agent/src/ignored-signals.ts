// To be imported before anything else, by each process: without a listener SIGUSR1 opens Node's debugger to everybody
// on the machine, and the others end the process.
for (const signal of ['SIGUSR1', 'SIGUSR2', 'SIGHUP'] as const) process.on(signal, () => {});

// A SIGUSR1 that came while Node.js itself started has opened it: whoever wants a debugger says so with --inspect.
const flags = [...process.execArgv, process.env['NODE_OPTIONS'] ?? ''];
if (process.features.inspector && !flags.some((flag) => flag.includes('--inspect'))) {
  const { close } = process.getBuiltinModule('node:inspector');
  close();
  // Node.js may still be about to open it.
  setImmediate(close);
}
