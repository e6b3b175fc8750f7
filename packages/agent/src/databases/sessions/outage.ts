import type { DatabaseChange } from '../driver/driver.ts';
import type { DatabaseError } from '../driver/errors.ts';

/** What a refused connection means. Each kind of server says it in its own way. */
export interface RefusalRules {
  /** The server is there, and only has too many connections. */
  hasTooMany(refusal: DatabaseError): boolean;
  /** It tells that an administrator has ended a session, which a pooler repeats to the next client. */
  isOfEndedSession(refusal: DatabaseError): boolean;
  /** The next attempt may succeed without a change of the account or the settings. */
  mayPass(refusal: DatabaseError): boolean;
}

/** When the last session of a database ends that was used so lately, a new connection is tried. */
export const IN_USE_MS = 60_000;
/** A restart or a fail-over may take so long: until then calls wait, after that each tries to connect once. */
const SHORT_OUTAGE_MS = 5000;
/** For so long a refusal by `isOfEndedSession` is no loss: a pooler may give out connections that its server has just ended. */
const ENDED_SESSIONS_MS = 500;
/** The pause between attempts: a share of the time since the first that failed, within bounds while calls wait and after that. */
const PAUSE_SHARE = 0.25;
const PAUSE_MS = [100, 250] as const;
const HOPELESS_PAUSE_MS = [1000, 10_000] as const;

/**
 * What a pool without any connection knows of why it has none. The database is lost when a connection cannot be made and
 * none is left, unless it only has too many already. Calls that wait for a connection go on waiting for as long as the
 * outage may be a short one. `onChange` is called once for the loss and once for its end; a database that was never
 * reached cannot be lost.
 */
export class Outage {
  readonly #rules: RefusalRules;
  readonly #onChange: (change: DatabaseChange) => void;
  readonly #now: () => number;
  #wasReached = false;
  #refusal: DatabaseError | undefined;
  #formerRefusal: DatabaseError | undefined;
  #endedAt = Number.NEGATIVE_INFINITY;
  #refusedSince: number | undefined;
  #lostAt: number | undefined;
  #pause: NodeJS.Timeout | undefined;

  constructor(
    rules: RefusalRules,
    onChange: (change: DatabaseChange) => void,
    now: () => number = () => performance.now(),
  ) {
    this.#rules = rules;
    this.#onChange = onChange;
    this.#now = now;
  }

  /** Why the last attempt to connect failed; undefined once one has succeeded. */
  get refusal(): DatabaseError | undefined {
    return this.#refusal;
  }

  /** Why connecting fails now, or did in the last outage if that ended after `since`, by `performance.now()`. */
  refusalSince(since: number): DatabaseError | undefined {
    return this.#refusal ?? (this.#endedAt > since ? this.#formerRefusal : undefined);
  }

  get isLost(): boolean {
    return this.#lostAt !== undefined;
  }

  /** Whether the next attempt that fails shall refuse all calls that wait for a connection. */
  get isHopeless(): boolean {
    if (!this.#wasReached || this.#refusal === undefined || !this.#rules.mayPass(this.#refusal)) return true;
    return this.#lostAt !== undefined && this.#now() - this.#lostAt >= SHORT_OUTAGE_MS;
  }

  /** An attempt to connect failed, and there is no connection. */
  refused(error: DatabaseError): void {
    this.#refusal = error;
    this.#refusedSince ??= this.#now();
    const isEndedSession =
      this.#rules.isOfEndedSession(error) && this.#now() - this.#refusedSince < ENDED_SESSIONS_MS;
    if (this.#rules.hasTooMany(error)) {
      this.#answers();
    } else if (this.#wasReached && !this.isLost && !isEndedSession) {
      this.#lostAt = this.#now();
      this.#onChange({ isUp: false, advice: error.advice ?? '', detail: error.message });
    }
  }

  /** An attempt to connect succeeded. */
  ended(): void {
    if (this.#refusal !== undefined) {
      this.#formerRefusal = this.#refusal;
      this.#endedAt = this.#now();
    }
    this.#refusal = undefined;
    this.#refusedSince = undefined;
    this.#wasReached = true;
    this.stopTrying();
    this.#answers();
  }

  /** Whether the next attempt is scheduled. */
  get isPausing(): boolean {
    return this.#pause !== undefined;
  }

  /** Makes the next attempt after a pause, if a call waits for it or the database is lost. */
  tryLater(isAwaited: boolean, attempt: () => void): void {
    this.stopTrying();
    if (this.#refusal === undefined || (!this.isLost && !isAwaited)) return;
    this.#pause = setTimeout(() => {
      this.#pause = undefined;
      attempt();
    }, this.#pauseMs());
  }

  stopTrying(): void {
    clearTimeout(this.#pause);
    this.#pause = undefined;
  }

  /** The server answers, even if only to refuse. */
  #answers(): void {
    if (this.#lostAt === undefined) return;
    const awayMs = Math.round(this.#now() - this.#lostAt);
    this.#lostAt = undefined;
    this.#onChange({ isUp: true, awayMs });
  }

  #pauseMs(): number {
    const [least, most] = this.isHopeless ? HOPELESS_PAUSE_MS : PAUSE_MS;
    const share = this.#refusedSince === undefined ? 0 : (this.#now() - this.#refusedSince) * PAUSE_SHARE;
    // The random part keeps agents that lost the same database from coming back all at once.
    return Math.min(Math.max(share, least), most) * (0.75 + Math.random() / 2);
  }
}
