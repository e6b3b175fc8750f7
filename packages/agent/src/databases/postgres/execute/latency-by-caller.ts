import type { CallerShare } from '../../driver/driver.ts';
import { createLatencyTracker, SHORT_MS, type LatencyTracker } from './latency-tracker.ts';

/**
 * What the runs of one query tell of the next. All callers share it until, beside others, a run of one takes long: from
 * then on that one has its own, for values that only it sends may be why. Else the quick runs of others would have its
 * slow ones sent in front of theirs, and its slow ones would have theirs wait for a session alone.
 */
export interface LatencyByCaller {
  of(share: CallerShare | undefined): LatencyTracker;
  /** See `LatencyTracker`. */
  record(share: CallerShare | undefined, ms: number, succeeded: boolean): void;
}

export function createLatencyByCaller(): LatencyByCaller {
  const common = createLatencyTracker();
  /** Undefined while nobody has its own. */
  let own: WeakMap<CallerShare, LatencyTracker> | undefined;

  function of(share: CallerShare | undefined): LatencyTracker {
    if (own === undefined || share === undefined || share.isAlone) return common;
    return own.get(share) ?? common;
  }

  return {
    of,
    record(share, ms, succeeded) {
      if (ms > SHORT_MS && share !== undefined && !share.isAlone && of(share) === common) {
        own ??= new WeakMap();
        own.set(share, common.copy());
      }
      of(share).record(ms, succeeded);
    },
  };
}
