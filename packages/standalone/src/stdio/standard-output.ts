const { stdout, stderr } = process;
const write = stdout.write.bind(stdout);

/** Writes to standard output, whatever else does. `done` is called when the reader has taken it, or is gone. */
export function writeOut(bytes: string | Uint8Array, done: () => void = () => {}): void {
  write(bytes, () => done());
}

/**
 * From here on standard output holds nothing but messages: what else is written there goes to standard error. To be
 * imported before what may print.
 */
if (process.argv.includes('stdio')) stdout.write = stderr.write.bind(stderr);
