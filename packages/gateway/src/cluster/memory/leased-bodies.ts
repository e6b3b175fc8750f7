import type { WorkerChannel } from '../channel.ts';
import { LEASE_STEP_BYTES, stepsOf, UNUSED_MS } from './lease.ts';

/** As a BodyBudget that the primary lends: see createLeasedBodies. */
export interface LeasedBodies {
  take(bytes: number): boolean;
  give(bytes: number): void;
}

/** After a refusal the primary is asked again. */
const ASK_AGAIN_MS = 100;

/**
 * A worker's memory for bodies that are still arriving. Who takes is answered at once, so the next step is asked for
 * before it is needed. While the answer is on its way a worker may go beyond what is lent by its part of `totalBytes`;
 * what it must not lead to is a refusal while there is enough.
 */
export function createLeasedBodies(
  channel: WorkerChannel,
  totalBytes: number,
  workers: number,
  now: () => number,
): LeasedBodies {
  const advance = Math.min(LEASE_STEP_BYTES, Math.ceil(totalBytes / workers));
  let taken = 0;
  let lent = 0;
  let asking = false;
  let refusedAt = Number.NEGATIVE_INFINITY;
  let timer: NodeJS.Timeout | undefined;

  async function ask(): Promise<void> {
    asking = true;
    try {
      const steps = Math.max(1, stepsOf(taken) - lent);
      if (await channel.ask('lease', { pool: 'bodies', steps, back: 0, wait: false })) lent += steps;
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
      channel.tell('lease_back', { pool: 'bodies', steps: unused });
    }, UNUSED_MS).unref();
  }

  return {
    take(bytes) {
      const wanted = taken + bytes;
      const bound = lent * LEASE_STEP_BYTES;
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
