// Imported first: without a listener SIGUSR1 opens Node's debugger to everybody on the machine, and SIGUSR2 ends the process.
for (const signal of ['SIGUSR1', 'SIGUSR2']) process.on(signal, () => {});
