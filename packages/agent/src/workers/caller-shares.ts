import type { CallerShare } from '../databases/driver/driver.ts';

/**
 * What a caller may take of the connections of one worker. The shares are those of `calls/caller-loads`, which sees the calls
 * of all workers: each worker keeps as many connections free as other callers lately used at once, so that their next
 * calls find one in every worker.
 */
export interface ShareValues {
  /** The caller's number. */
  readonly number: number;
  readonly isAlone: boolean;
  readonly most: number;
  readonly spare: number;
}

type Sent = { -readonly [Key in keyof ShareValues]: ShareValues[Key] };

/** What one worker has been told of callers. */
export interface SentShares {
  /** The present values, to be sent with a call. */
  of(share: CallerShare): ShareValues;
  /** The shares that have changed since they were sent. */
  changed(shares: Iterable<CallerShare>): readonly ShareValues[];
}

export function createSentShares(connections: number): SentShares {
  const sent = new WeakMap<CallerShare, Sent>();
  let last: { readonly share: CallerShare; readonly values: Sent } | undefined;
  let count = 0;

  function valuesOf(share: CallerShare): Sent {
    if (last?.share === share) return last.values;
    let values = sent.get(share);
    if (values === undefined) {
      count += 1;
      values = { number: count, isAlone: true, most: 0, spare: 0 };
      sent.set(share, values);
    }
    last = { share, values };
    return values;
  }

  /** Returns whether anything has changed. */
  function update(values: Sent, share: CallerShare): boolean {
    const { isAlone } = share;
    const most = share.most(connections);
    const spare = share.spare(connections);
    if (values.most === most && values.spare === spare && values.isAlone === isAlone) return false;
    values.isAlone = isAlone;
    values.most = most;
    values.spare = spare;
    return true;
  }

  return {
    of(share) {
      const values = valuesOf(share);
      update(values, share);
      return values;
    },
    changed: (shares) =>
      [...shares].flatMap((share) => {
        const values = valuesOf(share);
        return update(values, share) ? [values] : [];
      }),
  };
}

export interface ReceivedShares {
  /** The same object for each call of a caller, from then on with these values. */
  of(values: ShareValues): ReceivedShare;
  /** Forgets callers that have had no call for a while. */
  forgetUnused(now: number): void;
}

interface ReceivedShare extends CallerShare {
  /** Calls that run or wait here. */
  calls: number;
  usedAt: number;
}

/** Longer than the agent itself remembers one. */
const UNUSED_MS = 10_000;

export function createReceivedShares(): ReceivedShares {
  const byNumber = new Map<number, ReceivedShare & { values: ShareValues }>();
  return {
    of(values) {
      let share = byNumber.get(values.number);
      if (share === undefined) {
        share = receivedShare(values);
        byNumber.set(values.number, share);
      }
      share.values = values;
      return share;
    },
    forgetUnused(now) {
      for (const [number, { calls, usedAt }] of byNumber) {
        if (calls === 0 && usedAt < now - UNUSED_MS) byNumber.delete(number);
      }
    },
  };
}

function receivedShare(values: ShareValues): ReceivedShare & { values: ShareValues } {
  return {
    values,
    calls: 0,
    usedAt: performance.now(),
    get isAlone() {
      return this.values.isAlone;
    },
    most(capacity) {
      return Math.min(this.values.most, capacity);
    },
    spare(capacity) {
      return Math.min(this.values.spare, capacity - 1);
    },
  };
}
