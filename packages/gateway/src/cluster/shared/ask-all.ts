import type { PrimaryChannel } from '../channel.ts';
import type { WorkerMessages } from '../messages.ts';

/** A worker that does not answer in this time is shown as it was when it last did. */
const ANSWER_MS = 1000;

/**
 * In the primary: asks all workers for what they also tell by themselves. `onTold` gets all that is told; what is returned
 * asks, and resolves once every worker has told something after that, or is gone, or takes too long.
 */
export function createAskAll<Kind extends keyof WorkerMessages>(
  channel: PrimaryChannel,
  wanted: 'metrics_wanted' | 'recent_wanted',
  told: Kind,
  onTold: (message: WorkerMessages[Kind], worker: number) => void,
): () => Promise<void> {
  const joined = new Set<number>();
  const waiting = new Set<{ readonly missing: Set<number>; readonly done: () => void }>();

  function answered(worker: number): void {
    for (const { missing, done } of waiting) {
      missing.delete(worker);
      if (missing.size === 0) done();
    }
  }

  channel.onJoin((worker) => void joined.add(worker));
  channel.onLeave((worker) => {
    joined.delete(worker);
    answered(worker);
  });
  channel.on(told, (message, worker) => {
    onTold(message, worker);
    answered(worker);
  });

  return () =>
    new Promise((resolve) => {
      const asked = {
        missing: new Set(joined),
        done() {
          clearTimeout(timer);
          waiting.delete(asked);
          resolve();
        },
      };
      const timer = setTimeout(() => asked.done(), ANSWER_MS);
      waiting.add(asked);
      channel.broadcast(wanted, undefined);
      if (asked.missing.size === 0) asked.done();
    });
}
