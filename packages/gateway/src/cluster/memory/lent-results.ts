import type { ResultBudget } from '../../agents/result-budget.ts';
import type { WorkerChannel } from '../channel.ts';
import { LOAN_STEP_BYTES, stepsOf, UNUSED_MS } from './loan.ts';

interface Waiting {
  readonly bytes: number;
  readonly granted: () => void;
  state: 'waiting' | 'held' | 'released';
}

/** For how long after another worker began to wait no unused memory is kept. */
const WANTED_MS = 1000;

/**
 * A worker's memory for large results, which its primary lends. Reservations are granted in their order, each within the
 * loan. A worker asks for as much as its first waiting reservation needs, and meanwhile keeps nothing that is not
 * reserved: two workers that each kept half of what both need would wait forever. `totalBytes` is at least the largest
 * reservation.
 */
export function createLentResults(channel: WorkerChannel, totalBytes: number): ResultBudget {
  const queue = new Set<Waiting>();
  let reserved = 0;
  let lent = 0;
  let asking = false;
  let timer: NodeJS.Timeout | undefined;
  let wantedUntil = 0;
  /** Another worker waits: a step must go back before anything is granted, or reservations here would always be first. */
  let yields = false;

  /** `isLent`: the primary has just lent what the first waiting reservation needs. */
  function grantNext(isLent = false): void {
    let mayGrant = isLent || !yields;
    for (const next of queue) {
      if (reserved + next.bytes > lent * LOAN_STEP_BYTES) {
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
    // More is never lent: reservations of this worker must end first.
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
    // A worker without its primary finishes the calls that it has begun, and ends.
    channel.ask('loan', { pool: 'results', steps, back, wait: true }).then(settle, settle);
  }

  function giveBack(): void {
    const unused = lent - stepsOf(reserved);
    if (unused <= 0) return;
    lent -= unused;
    yields = false;
    channel.tell('loan_back', { pool: 'results', steps: unused });
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

  channel.on('loans_wanted', ({ pool }) => {
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
