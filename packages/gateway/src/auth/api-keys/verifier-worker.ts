import { parentPort } from 'node:worker_threads';
import { compareSync } from 'bcryptjs';

export interface VerifierJob {
  readonly plaintext: string;
  readonly bcryptHash: string;
}

export interface VerifierAnswer {
  readonly matches: boolean;
}

/** The body of a verifying thread: one answer for each job, in order. An invalid job ends the thread. */
export function runVerifierWorker(): void {
  if (parentPort === null) throw new Error('cannot verify keys here: this is not a worker thread');
  const port = parentPort;
  port.on('message', ({ plaintext, bcryptHash }: VerifierJob) => {
    const answer: VerifierAnswer = { matches: compareSync(plaintext, bcryptHash) };
    port.postMessage(answer);
  });
}
