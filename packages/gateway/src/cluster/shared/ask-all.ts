import type { PrimaryChannel } from '../channel.ts';
import type { WorkerMessages } from '../messages.ts';

/** A worker that takes longer to answer is shown as it was when it last answered. */
const ANSWER_MS = 1000;

/**
 * In the primary: asks all workers for what they also report unasked. `onTold` gets all reports. The returned function asks,
 * and resolves once every worker has reported since then, or is gone, or takes too long.
 */
export function createAskAll<Kind extends keyof WorkerMessages>(
  channel: PrimaryChannel,
  wanted: 'metrics_wanted' | 'recent_wanted',
  told: Kind,
  onTold: (message: WorkerMessages[Kind], worker: number) => void,
): () => Promise<void> {
  const waiting = new Set<{ readonly missing: Set<number>; readonly done: () => void }>();

  function answered(worker: number): void {
    for (const { missing, done } of waiting) {
      missing.delete(worker);
      if (missing.size === 0) done();
    }
  }

  channel.onLeave(answered);
  channel.on(told, (message, worker) => {
    onTold(message, worker);
    answered(worker);
  });

  return () =>
    new Promise((resolve) => {
      const asked = {
        missing: new Set(channel.workers),
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
