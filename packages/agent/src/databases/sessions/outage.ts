import type { DatabaseChange } from '../driver/driver.ts';
import type { DatabaseError } from '../driver/errors.ts';

/** What a refused connection says, which each kind of server says in its own way. */
export interface RefusalRules {
  /** The server is there, and only has too many connections. */
  hasTooMany(refusal: DatabaseError): boolean;
  /** It is the word of an administrator who has ended a session, as poolers repeat it. */
  isOfEndedSession(refusal: DatabaseError): boolean;
  /** The next attempt may succeed without a change of the account or the settings. */
  mayPass(refusal: DatabaseError): boolean;
}

/** What a pool without any connection knows of why it has none. */
export interface Outage {
  /** Why the last attempt to connect failed; undefined once one has succeeded. */
  readonly refusal: DatabaseError | undefined;
  /** The same for the outage before, where that ended after `since`, by `performance.now()`. */
  refusalSince(since: number): DatabaseError | undefined;
  readonly isLost: boolean;
  /** Whether the next attempt that fails shall refuse all calls that wait for a connection. */
  readonly isHopeless: boolean;
  /** An attempt to connect failed, and there is no connection. */
  refused(error: DatabaseError): void;
  /** An attempt to connect succeeded. */
  ended(): void;
  /** Whether the next attempt is scheduled. */
  readonly isPausing: boolean;
  /** Makes the next attempt after a pause, where a call waits for it or the database is lost. */
  tryLater(isAwaited: boolean, attempt: () => void): void;
  stopTrying(): void;
}

/** A database used so lately that ends the last session is asked whether it is lost; one long unused may want to sleep. */
export const IN_USE_MS = 60_000;
/** As long as a restart or a fail-over may take: until then calls wait, after that each tries to connect once. */
const SHORT_OUTAGE_MS = 5000;
/** A pooler may give out connections that its server has just ended: what says no more is no loss for so long. */
const ENDED_SESSIONS_MS = 500;
/** Between attempts, while calls wait and afterwards: as a share of the time for which none has succeeded. */
const PAUSE_SHARE = 0.25;
const PAUSE_MS = [100, 250] as const;
const HOPELESS_PAUSE_MS = [1000, 10_000] as const;

/**
 * The database is lost when a connection cannot be made and none is left, unless it only has too many already. Calls
 * that wait for a connection go on waiting for as long as the outage may be a short one. `onChange` is called once for
 * the loss and once for its end; a database that was never reached cannot be lost.
 */
export function createOutage(
  rules: RefusalRules,
  onChange: (change: DatabaseChange) => void,
  now: () => number = () => performance.now(),
): Outage {
  let wasReached = false;
  let refusal: DatabaseError | undefined;
  let formerRefusal: DatabaseError | undefined;
  let endedAt = Number.NEGATIVE_INFINITY;
  let refusedSince: number | undefined;
  let lostAt: number | undefined;
  let pause: NodeJS.Timeout | undefined;

  /** The server answers, even if only to refuse. */
  function answers(): void {
    if (lostAt === undefined) return;
    const awayMs = Math.round(now() - lostAt);
    lostAt = undefined;
    onChange({ isUp: true, awayMs });
  }

  function stopTrying(): void {
    clearTimeout(pause);
    pause = undefined;
  }

  function isHopeless(): boolean {
    if (!wasReached || refusal === undefined || !rules.mayPass(refusal)) return true;
    return lostAt !== undefined && now() - lostAt >= SHORT_OUTAGE_MS;
  }

  function pauseMs(): number {
    const [least, most] = isHopeless() ? HOPELESS_PAUSE_MS : PAUSE_MS;
    const share = refusedSince === undefined ? 0 : (now() - refusedSince) * PAUSE_SHARE;
    // Agents that lost the same database shall not all come back at once.
    return Math.min(Math.max(share, least), most) * (0.75 + Math.random() / 2);
  }

  return {
    get refusal() {
      return refusal;
    },
    refusalSince: (since) => refusal ?? (endedAt > since ? formerRefusal : undefined),
    get isLost() {
      return lostAt !== undefined;
    },
    get isHopeless() {
      return isHopeless();
    },
    refused(error) {
      refusal = error;
      refusedSince ??= now();
      const isEndedSession = rules.isOfEndedSession(error) && now() - refusedSince < ENDED_SESSIONS_MS;
      if (rules.hasTooMany(error)) {
        answers();
      } else if (wasReached && lostAt === undefined && !isEndedSession) {
        lostAt = now();
        onChange({ isUp: false, advice: error.advice ?? '', detail: error.message });
      }
    },
    ended() {
      if (refusal !== undefined) {
        formerRefusal = refusal;
        endedAt = now();
      }
      refusal = undefined;
      refusedSince = undefined;
      wasReached = true;
      stopTrying();
      answers();
    },
    get isPausing() {
      return pause !== undefined;
    },
    tryLater(isAwaited, attempt) {
      stopTrying();
      if (refusal === undefined || (lostAt === undefined && !isAwaited)) return;
      pause = setTimeout(() => {
        pause = undefined;
        attempt();
      }, pauseMs());
    },
    stopTrying,
  };
}
