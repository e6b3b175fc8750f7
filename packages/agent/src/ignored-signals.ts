// To be imported before anything else, by each process: without a listener SIGUSR1 opens Node's debugger to everybody
// on the machine, and the others end the process.
for (const signal of ['SIGUSR1', 'SIGUSR2', 'SIGHUP'] as const) process.on(signal, () => {});
