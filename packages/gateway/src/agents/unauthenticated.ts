import { createRateLimiter, type RateDecision } from '../access/rate-limit.ts';

/** A connection to the agent endpoint whose other end has not yet proved its identity. */
export interface UnauthenticatedPeer {
  /** The peer has proved its identity: it does not count any more, and its source is known. */
  authenticated(): void;
  /** The connection has closed, authenticated or not. `atChallenge`: the peer left by itself after the challenge. */
  closed(atChallenge: boolean): void;
}

/** `retryAfterSeconds` is a whole number, at least 1. */
export type PeerDecision =
  | { readonly ok: true; readonly peer: UnauthenticatedPeer }
  | { readonly ok: false; readonly retryAfterSeconds: number };

export interface UnauthenticatedPeers {
  /** An agent at that source has proved its identity to another process of the replica. */
  known(source: string): void;
  /** Counts another peer of that source, unless a bound is reached. */
  accept(source: string): PeerDecision;
}

/** The processes of a replica, which share its connections: each has its part of all bounds. */
export interface Siblings {
  readonly workers: number;
  /** Called with sources that the other processes must know. */
  readonly onKnown: (source: string) => void;
}

interface Bounds {
  readonly open: number;
  readonly rate: { readonly requestsPerSecond: number; readonly burst: number };
}

const UNKNOWN_SOURCE: Bounds = { open: 20, rate: { requestsPerSecond: 20, burst: 40 } };
/** After a restart a whole fleet may come from one address at once. */
const KNOWN_SOURCE: Bounds = { open: 100, rate: { requestsPerSecond: 100, burst: 200 } };
/** All sources together have twice this: one half is for any source, the other is reserved for known ones. */
const HALF: Bounds = { open: 100, rate: { requestsPerSecond: 50, burst: 100 } };
/** What known sources must leave of the half for any source: otherwise one of them could lock new agents out. */
const LEFT_TO_UNKNOWN = 20;

const ALONE: Siblings = { workers: 1, onKnown: () => {} };

/** How long a source is known after an agent there has completed a handshake, and after that agent has disconnected. */
const KNOWN_MS = 600_000;
const KNOWN_SOURCES_MAX = 10_000;
/** Agents that look for further replicas close connections after the challenge. */
const LEFT_AT_CHALLENGE_COST = 0.1;
/** A handshake takes a few round trips, so a place is free soon. */
const RETRY_SECONDS = 1;

/**
 * Bounds unauthenticated peers, first for each source and then for all together, so that a host that dials again and again
 * is refused without a cost to others. `now` is a monotonic clock in milliseconds.
 */
export function createUnauthenticatedPeers(
  now: () => number,
  knownSourcesMax: number = KNOWN_SOURCES_MAX,
  { workers, onKnown }: Siblings = ALONE,
): UnauthenticatedPeers {
  const unknownSource = partOf(UNKNOWN_SOURCE, workers);
  const knownSource = partOf(KNOWN_SOURCE, workers);
  const half = partOf(HALF, workers);
  const leftToUnknown = Math.ceil(LEFT_TO_UNKNOWN / workers);
  const ofUnknown = createRateLimiter({ ...unknownSource.rate, now });
  const ofKnown = createRateLimiter({ ...knownSource.rate, now });
  const ofAll = createRateLimiter({ ...half.rate, now });
  const open = new Map<string, number>();
  /** Of all sources together, and of unknown ones. */
  let openCount = 0;
  let openUnknownCount = 0;
  /** Until when each source is known, in the order of those times. */
  const knownUntil = new Map<string, number>();

  function isKnown(source: string): boolean {
    const until = knownUntil.get(source);
    if (until === undefined || until > now()) return until !== undefined;
    knownUntil.delete(source);
    return false;
  }

  function remember(source: string): void {
    known(source);
    onKnown(source);
  }

  function known(source: string): void {
    knownUntil.delete(source);
    knownUntil.set(source, now() + KNOWN_MS);
    for (const [oldest, until] of knownUntil) {
      if (until > now() && knownUntil.size <= knownSourcesMax) break;
      knownUntil.delete(oldest);
    }
  }

  function mayOpen(source: string, known: boolean): boolean {
    const bounds = known ? knownSource : unknownSource;
    if ((open.get(source) ?? 0) >= bounds.open) return false;
    if (openCount >= 2 * half.open) return false;
    return known
      ? openCount - openUnknownCount < 2 * half.open - leftToUnknown
      : openUnknownCount < half.open;
  }

  function countOpen(source: string, known: boolean, change: 1 | -1): void {
    openCount += change;
    if (!known) openUnknownCount += change;
    const count = (open.get(source) ?? 0) + change;
    if (count === 0) open.delete(source);
    else open.set(source, count);
  }

  /** Known sources first use the half that is reserved for them. */
  function takeOfAll(known: boolean): { readonly from: 'known' | 'every'; readonly taken: RateDecision } {
    if (!known) return { from: 'every', taken: ofAll.take('every') };
    const kept = ofAll.take('known');
    if (kept.ok) return { from: 'known', taken: kept };
    const taken = ofAll.take('every', 1 + leftToUnknown);
    if (!taken.ok) return { from: 'known', taken: kept };
    ofAll.giveBack('every', leftToUnknown);
    return { from: 'every', taken };
  }

  return {
    known,
    accept(source) {
      const known = isKnown(source);
      if (!mayOpen(source, known)) return { ok: false, retryAfterSeconds: RETRY_SECONDS };
      const ofSource = known ? ofKnown : ofUnknown;
      const own = ofSource.take(source);
      if (!own.ok) return own;
      const { from, taken } = takeOfAll(known);
      if (!taken.ok) return taken;
      countOpen(source, known, 1);
      let state: 'unauthenticated' | 'authenticated' | 'closed' = 'unauthenticated';
      const peer: UnauthenticatedPeer = {
        authenticated() {
          if (state !== 'unauthenticated') throw new Error(`the peer is ${state} already`);
          state = 'authenticated';
          countOpen(source, known, -1);
          remember(source);
        },
        closed(atChallenge) {
          const before = state;
          state = 'closed';
          switch (before) {
            case 'unauthenticated':
              countOpen(source, known, -1);
              if (!known || !atChallenge) return;
              ofSource.giveBack(source, 1 - LEFT_AT_CHALLENGE_COST);
              ofAll.giveBack(from, 1 - LEFT_AT_CHALLENGE_COST);
              return;
            case 'authenticated':
              // The agent will dial again, and may have been connected for longer than its source was remembered.
              remember(source);
              return;
            case 'closed':
              return;
          }
        },
      };
      return { ok: true, peer };
    },
  };
}

function partOf({ open, rate }: Bounds, workers: number): Bounds {
  const { requestsPerSecond, burst } = rate;
  return {
    open: Math.ceil(open / workers),
    rate: { requestsPerSecond: requestsPerSecond / workers, burst: Math.ceil(burst / workers) },
  };
}
