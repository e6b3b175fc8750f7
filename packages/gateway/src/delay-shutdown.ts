import type { Replica } from './cluster/replica.ts';

/** Resolves when the time is over, or when the primary is gone, without which no connection comes that could be served. */
export function delayShutdown(ms: number, channel: Replica['channel']): Promise<void> {
  return new Promise((resolve) => {
    if (ms === 0) resolve();
    else setTimeout(resolve, ms);
    channel?.onLost(resolve);
  });
}
