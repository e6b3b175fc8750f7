import type { WorkerChannel } from '../channel.ts';
import { LEASE_STEP_BYTES, stepsOf, UNUSED_MS } from './lease.ts';

interface Waiting {
  readonly bytes: number;
  readonly granted: () => void;
  state: 'waiting' | 'held' | 'released';
}

/** After another worker has begun to wait, nothing that is not used is kept for so long. */
const WANTED_MS = 1000;

/** As a ResultBudget that the primary lends: see LeasedResults. */
export interface LeasedResults {
  reserve(bytes: number, granted: () => void): () => void;
  readonly reservedBytes: number;
}

/**
 * A worker's memory for large results: reservations in their order, each within what the primary has lent. What is asked
 * for is enough for the first that waits. While it is asked for, nothing is kept that is not reserved: two workers that
 * each kept half of what both need would wait for ever. `totalBytes` is at least the largest reservation.
 */
export function createLeasedResults(channel: WorkerChannel, totalBytes: number): LeasedResults {
  const queue = new Set<Waiting>();
  let reserved = 0;
  let lent = 0;
  let asking = false;
  let timer: NodeJS.Timeout | undefined;
  let wantedUntil = 0;
  /** Another worker waits: nothing is granted before a step has gone back, else those who wait here would always be first. */
  let yields = false;

  /** `isLent`: the first that waits has just been lent what it needs. */
  function grantNext(isLent = false): void {
    let mayGrant = isLent || !yields;
    for (const next of queue) {
      if (reserved + next.bytes > lent * LEASE_STEP_BYTES) {
        ask(next.bytes);
        return;
      }
      if (!mayGrant) return;
      mayGrant = !yields;
      queue.delete(next);
      next.state = 'held';
      reserved += next.bytes;
      next.granted();
    }
  }

  function ask(bytes: number): void {
    const used = stepsOf(reserved);
    const steps = stepsOf(reserved + bytes) - used;
    // Its own reservations have to end first.
    if (asking || used + steps > stepsOf(totalBytes)) return;
    asking = true;
    const back = lent - used;
    lent = used;
    const settle = (): void => {
      asking = false;
      lent += steps;
      grantNext(true);
      giveBackLater();
    };
    // Without its primary a worker answers what it has begun, and ends.
    channel.ask('lease', { pool: 'results', steps, back, wait: true }).then(settle, settle);
  }

  function giveBack(): void {
    const unused = lent - stepsOf(reserved);
    if (unused <= 0) return;
    lent -= unused;
    yields = false;
    channel.tell('lease_back', { pool: 'results', steps: unused });
  }

  function giveBackLater(): void {
    if (asking || yields || performance.now() < wantedUntil) giveBack();
    else if (lent > stepsOf(reserved)) {
      timer ??= setTimeout(() => {
        timer = undefined;
        giveBack();
      }, UNUSED_MS).unref();
    }
  }

  channel.on('leases_wanted', ({ pool }) => {
    if (pool !== 'results') return;
    wantedUntil = performance.now() + WANTED_MS;
    yields = lent > 0;
    giveBack();
  });
  return {
    reserve(bytes, granted) {
      const waiting: Waiting = { bytes, granted, state: 'waiting' };
      queue.add(waiting);
      if (queue.size === 1) grantNext();
      return () => {
        const { state } = waiting;
        waiting.state = 'released';
        if (state === 'released') return;
        if (state === 'held') reserved -= bytes;
        else queue.delete(waiting);
        if (yields) giveBack();
        grantNext();
        giveBackLater();
      };
    },
    get reservedBytes() {
      return reserved;
    },
  };
}
