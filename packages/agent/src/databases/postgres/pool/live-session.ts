/**
 * What a live session is doing, and who changes it:
 *
 * - `idle`: in `#idle`. From the start (`#opened`), and again when the last one who acquired it has released it.
 * - `exclusive`: acquired by one, for a query that may be long. From `idle`, by `#assign`.
 * - `shared`: acquired by one or several, all for short queries. From `idle` or `shared`, by `#assign`.
 * - `closing`: told to end, and no longer handed out. From `idle`, by `close` and `orphan`; from `exclusive` and
 *   `shared`, by the last `release` while the pool closes.
 *
 * It stops being live when its connection has ended or is ended (`#forget`), or when it is left with its query running
 * (`orphan`): then it is among `#orphans`, and counts until the server is known to have ended the query.
 */
type SessionState = 'idle' | 'exclusive' | 'shared' | 'closing';

export interface LiveSession {
  state: SessionState;
  /** How many have acquired it and not yet released it. */
  acquired: number;
  /** How long those are expected to take together, in milliseconds. */
  expectedMs: number;
  /** When the server last answered, by `performance.now()`. */
  answeredAt: number;
}

/** A connection that is being made. */
export interface Opening {
  /** By `performance.now()`. */
  readonly since: number;
  readonly giveUp: AbortController;
}
