import type { BodyBudget } from '../../http/request/json-body.ts';
import type { WorkerChannel } from '../channel.ts';
import { LOAN_STEP_BYTES, stepsOf, UNUSED_MS } from './loan.ts';

/** How long after a refusal the primary is asked again. */
const ASK_AGAIN_MS = 100;

/**
 * A worker's memory for bodies that are still arriving, which its primary lends. `take` must answer at once, so the next
 * step is asked for before it is needed. While the answer is on its way, a worker may exceed its loan by its part of
 * `totalBytes`: otherwise it would refuse bodies although there is enough memory.
 */
export function createLentBodies(
  channel: WorkerChannel,
  totalBytes: number,
  workers: number,
  now: () => number,
): BodyBudget {
  const advance = Math.min(LOAN_STEP_BYTES, Math.ceil(totalBytes / workers));
  let taken = 0;
  let lent = 0;
  let asking = false;
  let refusedAt = Number.NEGATIVE_INFINITY;
  let timer: NodeJS.Timeout | undefined;

  async function ask(): Promise<void> {
    asking = true;
    try {
      const steps = Math.max(1, stepsOf(taken) - lent);
      if (await channel.ask('loan', { pool: 'bodies', steps, back: 0, wait: false })) lent += steps;
      else refusedAt = now();
    } catch {
      // Without its primary a worker answers what it has begun, and ends.
      lent = stepsOf(totalBytes);
    } finally {
      asking = false;
      giveBackLater();
    }
  }

  function giveBackLater(): void {
    if (lent <= stepsOf(taken)) return;
    timer ??= setTimeout(() => {
      timer = undefined;
      const unused = lent - stepsOf(taken);
      if (unused <= 0) return;
      lent -= unused;
      channel.tell('loan_back', { pool: 'bodies', steps: unused });
    }, UNUSED_MS).unref();
  }

  return {
    take(bytes) {
      const wanted = taken + bytes;
      const bound = lent * LOAN_STEP_BYTES;
      const mayAsk = !asking && now() - refusedAt >= ASK_AGAIN_MS;
      if (mayAsk && wanted + advance / 2 > bound) void ask();
      if (wanted > bound + (asking ? advance : 0)) return false;
      taken = wanted;
      return true;
    },
    give(bytes) {
      taken -= bytes;
      giveBackLater();
    },
  };
}
