/** Resolves with SIGTERM or SIGINT; the same signal once more ends the process at once with `exitCode`. */
export function firstSignal(exitCode: number): Promise<NodeJS.Signals> {
  return new Promise((resolve) => {
    for (const signal of ['SIGTERM', 'SIGINT'] as const) {
      process.once(signal, () => {
        process.once(signal, () => process.exit(exitCode));
        resolve(signal);
      });
    }
  });
}
