import { DEAD_AFTER_PING_MS, OWN_LAG_MS, PING_AFTER_SILENCE_MS, PING_JITTER } from '../rules/limits.ts';

/**
 * Whether the other end is alive, as a pure state: only what was received counts, never what
 * was written (a write into a dead connection succeeds for minutes).
 */
export type Liveness =
  | { readonly state: 'quiet'; readonly wakeAt: number }
  | {
      readonly state: 'pinged';
      readonly wakeAt: number;
      readonly pingedAt: number;
      readonly extended: boolean;
    };

export type LivenessStep =
  | { readonly action: 'wait' | 'ping'; readonly next: Liveness }
  | { readonly action: 'dead' };

/** `now` in monotonic milliseconds; `random` in [0, 1). */
export function heard(now: number, random: number): Liveness {
  const jitter = 1 + PING_JITTER * (2 * random - 1);
  return { state: 'quiet', wakeAt: now + PING_AFTER_SILENCE_MS * jitter };
}

/** What to do when the timer set for `wakeAt` fires at `now`; `lastHeardAt` is when anything last arrived. */
export function wake(liveness: Liveness, now: number, lastHeardAt: number, random: number): LivenessStep {
  switch (liveness.state) {
    case 'quiet': {
      const next = heard(lastHeardAt, random);
      if (next.wakeAt > now) return { action: 'wait', next };
      return {
        action: 'ping',
        next: { state: 'pinged', wakeAt: now + DEAD_AFTER_PING_MS, pingedAt: now, extended: false },
      };
    }
    case 'pinged': {
      // Nothing was heard when the ping was decided on, so the same millisecond means an answer.
      if (lastHeardAt >= liveness.pingedAt) return { action: 'wait', next: heard(lastHeardAt, random) };
      // The timer fired late because this process stood still: the answer may not be read yet, so wait once more.
      if (now - liveness.wakeAt > OWN_LAG_MS && !liveness.extended) {
        return { action: 'wait', next: { ...liveness, wakeAt: now + DEAD_AFTER_PING_MS, extended: true } };
      }
      return { action: 'dead' };
    }
  }
}
