/**
 * Lets the process go on when the reader of its standard output stops early, as `head` does. Any other failure of
 * standard output is reported in one line and ends the process with `exitCode`.
 */
export function tolerateClosedOutput(program: string, exitCode: number): void {
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') return;
    process.stderr.write(`${program}: cannot write to standard output: ${error.message}\n`);
    process.exit(exitCode);
  });
  // Unhandled, the error would end the process, and there is nowhere left to report it.
  process.stderr.on('error', () => {});
}
