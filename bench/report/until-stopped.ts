import { createReleasers, type Releasers } from '@svc/testkit';
import { stopRequest } from '../../examples/start-stop-request.ts';
import { say } from './options.ts';

/** Resolves to the exit code of `work`, 1 with a line on stderr when it rejects, 130 after a signal. What it added is released. */
export async function untilStopped(work: (releasers: Releasers) => Promise<number>): Promise<number> {
  const stop = stopRequest();
  const releasers = createReleasers();
  try {
    // A measurement under way goes on until its programs are gone; nobody waits for it.
    return await Promise.race([work(releasers), stop.requested.then(() => 130)]);
  } catch (error) {
    say(explained(error));
    return 1;
  } finally {
    await releasers.closeAll();
    stop.close();
  }
}

/** The message, and those of what caused it. */
function explained(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause === undefined ? error.message : `${error.message}: ${explained(error.cause)}`;
}
