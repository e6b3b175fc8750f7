/**
 * Resolves with the first signal that asks for the end: SIGTERM, SIGINT, SIGQUIT, which counts as SIGTERM, or one of
 * `also`. From then on a second SIGTERM or a second SIGINT ends the process at once with `exitCode`; no other does.
 */
export function firstSignal(exitCode: number, also: readonly NodeJS.Signals[] = []): Promise<NodeJS.Signals> {
  return new Promise((resolve) => {
    const begun = new Set<NodeJS.Signals>();
    for (const signal of ['SIGTERM', 'SIGINT'] as const) {
      process.on(signal, () => {
        if (begun.has(signal)) process.exit(exitCode);
        begun.add(signal);
        resolve(signal);
      });
    }
    process.on('SIGQUIT', () => {
      begun.add('SIGTERM');
      resolve('SIGQUIT');
    });
    for (const signal of also) process.on(signal, () => resolve(signal));
  });
}
