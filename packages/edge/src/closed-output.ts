/**
 * A reader that stops early, as `head` does, is no fault: the process goes on and ends as it would have ended. Anything
 * else that standard output refuses is told in one line and ends it with `exitCode`.
 */
export function tolerateClosedOutput(program: string, exitCode: number): void {
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') return;
    process.stderr.write(`${program}: cannot write to standard output: ${error.message}\n`);
    process.exit(exitCode);
  });
  // There is nowhere left to tell it.
  process.stderr.on('error', () => {});
}
