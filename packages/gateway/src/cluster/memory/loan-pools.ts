import type { PrimaryChannel } from '../channel.ts';
import { LOAN_STEP_BYTES, type Pool } from './loan.ts';

interface Waiting {
  readonly worker: number;
  readonly steps: number;
  readonly settle: (granted: boolean) => void;
}

/**
 * Lends memory that is bounded for the whole replica to its workers, in steps: first come, first served. A worker that asks
 * keeps only what it uses, so memory that others wait for comes back as soon as it is not used any more.
 */
export function lendMemory(channel: PrimaryChannel, bytesOf: Readonly<Record<Pool, number>>): void {
  const pools: Readonly<Record<Pool, ReturnType<typeof createPool>>> = {
    results: createPool(bytesOf.results),
    bodies: createPool(bytesOf.bodies),
  };
  /** Each worker gives back at least one step, so that the waiting worker gets enough in the end. */
  function askBack(pool: Pool): void {
    const { firstWaiting } = pools[pool];
    if (firstWaiting !== undefined) channel.broadcast('loans_wanted', { pool }, firstWaiting);
  }

  channel.answer('loan', ({ pool: name, steps, back, wait }, worker) => {
    const pool = pools[name];
    pool.giveBack(worker, back);
    const granted = pool.take(worker, steps, wait);
    askBack(name);
    return granted;
  });
  channel.on('loan_back', ({ pool, steps }, worker) => {
    pools[pool].giveBack(worker, steps);
    askBack(pool);
  });
  channel.onLeave((worker) => {
    for (const pool of Object.values(pools)) pool.leave(worker);
  });
}

function createPool(bytes: number) {
  let free = Math.ceil(bytes / LOAN_STEP_BYTES);
  const held = new Map<number, number>();
  let queue: readonly Waiting[] = [];

  function change(worker: number, steps: number): void {
    free -= steps;
    held.set(worker, (held.get(worker) ?? 0) + steps);
  }

  function grantNext(): void {
    for (let [next] = queue; next !== undefined && next.steps <= free; [next] = queue) {
      queue = queue.slice(1);
      change(next.worker, next.steps);
      next.settle(true);
    }
  }

  return {
    /** The worker that is served next. */
    get firstWaiting(): number | undefined {
      return queue[0]?.worker;
    },
    take(worker: number, steps: number, wait: boolean): boolean | Promise<boolean> {
      if (queue.length === 0 && steps <= free) {
        change(worker, steps);
        return true;
      }
      if (!wait) return false;
      return new Promise((settle) => {
        queue = [...queue, { worker, steps, settle }];
      });
    },
    giveBack(worker: number, steps: number): void {
      change(worker, -Math.min(steps, held.get(worker) ?? 0));
      grantNext();
    },
    leave(worker: number): void {
      free += held.get(worker) ?? 0;
      held.delete(worker);
      for (const { settle } of queue.filter((waiting) => waiting.worker === worker)) settle(false);
      queue = queue.filter((waiting) => waiting.worker !== worker);
      grantNext();
    },
  };
}
