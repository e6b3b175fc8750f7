/**
 * A reader that stops early, as `head` does, is no fault of the command; anything else that standard output refuses
 * is told in one line and ends the process with `exitCode`.
 */
export function tolerateClosedOutput(program: string, exitCode: number): void {
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') process.exit(0);
    process.stderr.write(`${program}: cannot write to standard output: ${error.message}\n`);
    process.exit(exitCode);
  });
}
