import { createInterface } from 'node:readline';
import { Writable } from 'node:stream';

/** Asks for the key on a terminal without showing it; undefined if nothing is typed. */
export function askApiKey(): Promise<string | undefined> {
  process.stderr.write('API key of the gateway (or set SVC_API_KEY): ');
  const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() });
  const lines = createInterface({ input: process.stdin, output: nowhere, terminal: true });
  return new Promise((resolve) => {
    lines.once('line', (line) => {
      resolve(line.trim() === '' ? undefined : line.trim());
      lines.close();
    });
    // Ctrl-C and Ctrl-D close it too.
    lines.once('close', () => {
      process.stderr.write('\n');
      resolve(undefined);
    });
  });
}
