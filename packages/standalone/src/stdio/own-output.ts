const { stdout, stderr } = process;
const send = stdout.write.bind(stdout);

/**
 * From the first statement of the program on, standard output holds nothing but what is sent here: what other code of the
 * process writes there, such as that of a preload, goes to standard error.
 */
stdout.write = stderr.write.bind(stderr);
// A client may close standard error. Unhandled, the error of the next line would end the process.
stderr.on('error', () => {});

/** Writes to the real standard output. */
export function sendToOutput(bytes: Uint8Array, onSent: () => void): void {
  send(bytes, () => onSent());
}

/** For commands whose output is for people: standard output is what it was. */
export function giveOutputBack(): void {
  stdout.write = send;
}
