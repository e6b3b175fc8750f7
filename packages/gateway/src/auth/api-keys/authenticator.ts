import { hash } from 'node:crypto';
import { createExpiringMap } from '@svc/edge';
import { createRateLimiter } from '../../access/rate-limit.ts';
import { canBeKey, keyFormOf } from './key-form.ts';
import type { SharePermissions } from '../permission-sets.ts';
import type { ApiKeyPrincipal } from '../principal.ts';
import type { KeyRecord } from './key-record.ts';

/** `invalid` answers 401, the others 429. */
export type Authentication = ApiKeyPrincipal | 'invalid' | 'busy' | TooManyGuesses;

/** A source whose wrong keys have cost enough for now. */
interface TooManyGuesses {
  readonly retryAfterSeconds: number;
}

export interface Authenticator {
  /**
   * The principal whose key this is. Answers at once whenever no bcrypt is needed, which is so for every key in use;
   * otherwise a promise, which rejects when the verification itself fails. `source` is whom wrong keys are counted by.
   */
  authenticate(credential: string, source: string): Authentication | Promise<Authentication>;
  /** Keys with these key ids are answered as unknown from now on, remembered or not. */
  setRevoked(keyIds: Iterable<string>): void;
  readonly counters: AuthenticationCounters;
}

/** For the metrics. Hits and misses grow; slots are as they are now. */
interface AuthenticationCounters {
  readonly cacheHits: number;
  readonly cacheMisses: number;
  readonly slotsInUse: number;
  readonly slots: number;
}

/** How many keys are remembered and for how long, and how many comparisons are under way at once. */
const CACHE_ENTRIES = 1024;
const CACHE_LIFETIME_MS = 5 * 60_000;
const SLOTS = 4;
/** Long enough to spare a client that retries with a wrong key, short enough to hold little. */
const REFUSAL_LIFETIME_MS = 10_000;
const REFUSAL_ENTRIES = 1024;
/**
 * What the wrong keys of one source may cost, in milliseconds of hashing: ten seconds at once, then a twentieth of a
 * core. A request costs its sender a few microseconds, a comparison us some hundred milliseconds.
 */
const GUESSES = { burst: 10_000, requestsPerSecond: 50 };
/**
 * A key in use is verified anew this long before it leaves the cache, so that no call waits for it: long enough to
 * wait itself for a slot that unknown keys hold.
 */
const REFRESH_BEFORE_MS = 60_000;

/** A key that is being verified, in a slot. */
interface Attempt {
  readonly source: string;
  /** What has been spent on comparisons that did not match. */
  spentMs: number;
}

/** What a presented key is compared with. */
interface Candidate {
  readonly keyId: string | undefined;
  readonly keyHash: string;
  readonly principal: ApiKeyPrincipal;
  readonly expiresAtMs: number | undefined;
}

/**
 * Finds whose key a request presents. A key is remembered by its digest alone, never in plaintext. It is
 *   unknown    in none of the maps;
 *   verifying  in `verifying`, each in a slot of its own: `begin` puts it there, the end of its comparisons removes it;
 *   known      in `known`: `compare` puts it there when a record matches; it leaves when its time is up;
 *   due        known, and in `due` until it is verified anew: `refresh` puts it there when its time is nearly up, and
 *              `begin` takes it out;
 *   refused    in `refused`: `compare` puts it there when no record matches; it leaves when its time is up.
 * A known key that is verified anew is in `verifying` too, and is answered as known meanwhile. `refreshing` is the one
 * key that `refreshNext` has begun; it has no successor before that has ended.
 * A key whose record has expired is answered as one that no record fits, wherever it is remembered.
 *
 * `verify` compares a plaintext with a bcrypt hash off the event loop; `now` is monotonic milliseconds, `wallClock`
 * milliseconds since 1970.
 */
export function createAuthenticator(options: {
  readonly records: readonly KeyRecord[];
  readonly verify: (plaintext: string, bcryptHash: string) => Promise<boolean>;
  readonly now: () => number;
  readonly wallClock: () => number;
  readonly sharePermissions: SharePermissions;
}): Authenticator {
  const { records, verify, now, wallClock } = options;
  const byKeyId = new Map<string, Candidate>();
  let revoked: ReadonlySet<string> = new Set();
  const withoutKeyId: Candidate[] = [];
  for (const { name, keyHash, keyId, capabilities, principal, claims, expiresAtMs } of records) {
    const candidate: Candidate = {
      keyId,
      keyHash,
      principal: {
        kind: 'api_key',
        id: `key:${principal}`,
        permissions: options.sharePermissions(capabilities),
        claims,
        claimsJson: Object.keys(claims).length === 0 ? '' : JSON.stringify(claims),
        name,
      },
      expiresAtMs,
    };
    if (keyId === undefined) withoutKeyId.push(candidate);
    else byKeyId.set(keyId, candidate);
  }
  const known = createExpiringMap<Candidate>({
    maxEntries: CACHE_ENTRIES,
    lifetimeMs: CACHE_LIFETIME_MS,
    now,
  });
  const refused = createExpiringMap<true>({
    maxEntries: REFUSAL_ENTRIES,
    lifetimeMs: REFUSAL_LIFETIME_MS,
    now,
  });
  const guesses = createRateLimiter({ ...GUESSES, now });
  /** The oldest first. */
  const verifying = new Map<
    string,
    { readonly attempt: Attempt; readonly outcome: Promise<Authentication> }
  >();
  /** Known keys that wait to be verified anew, one at a time. */
  const due = new Map<string, () => Promise<Authentication>>();
  let refreshing: string | undefined;
  const counters = { cacheHits: 0, cacheMisses: 0, slots: SLOTS };

  /** Costs keys that never expire nothing. */
  function hasExpired({ keyId, expiresAtMs }: Candidate): boolean {
    if (revoked.size > 0 && keyId !== undefined && revoked.has(keyId)) return true;
    return expiresAtMs !== undefined && expiresAtMs <= wallClock();
  }

  function candidatesFor(plaintext: string): readonly Candidate[] {
    const form = keyFormOf(plaintext);
    const candidate = form.kind === 'other' ? undefined : byKeyId.get(form.keyId);
    if (candidate !== undefined) return hasExpired(candidate) ? [] : [candidate];
    if (form.kind === 'created' && form.complete) return [];
    return withoutKeyId.filter((other) => !hasExpired(other));
  }

  async function compare(
    plaintext: string,
    digest: string,
    candidates: readonly Candidate[],
    attempt: Attempt,
  ): Promise<Authentication> {
    const { source } = attempt;
    for (const candidate of candidates) {
      if (attempt.spentMs > 0 && !(await mayGoOn(attempt))) {
        guesses.spend(source, attempt.spentMs);
        const wait = guesses.take(source, 0);
        return { retryAfterSeconds: wait.ok ? 1 : wait.retryAfterSeconds };
      }
      const startedAt = now();
      if (await verify(plaintext, candidate.keyHash)) {
        // Its time may have come while it was compared.
        if (hasExpired(candidate)) return 'invalid';
        known.set(digest, candidate);
        return candidate.principal;
      }
      attempt.spentMs += now() - startedAt;
    }
    refused.set(digest, true);
    guesses.spend(source, attempt.spentMs);
    return 'invalid';
  }

  /**
   * Whether another comparison is worth its cost. A right key may come after many records, so what is still open is not
   * held against its source: once it costs more than may be guessed, the oldest goes on alone and the others wait for
   * how it ends. A wrong key ends them, too.
   */
  async function mayGoOn(attempt: Attempt): Promise<boolean> {
    for (;;) {
      if (!guesses.take(attempt.source, 0).ok) return false;
      const open = [...verifying.values()].filter((other) => other.attempt.source === attempt.source);
      const [oldest] = open;
      const spentMs = open.reduce((sum, other) => sum + other.attempt.spentMs, 0);
      if (oldest === undefined || oldest.attempt === attempt || spentMs <= GUESSES.burst) return true;
      await oldest.outcome.catch(() => undefined);
    }
  }

  /** Takes a slot until the comparison ends; everyone who presents the same key meanwhile shares it. */
  function begin(
    plaintext: string,
    digest: string,
    candidates: readonly Candidate[],
    source: string,
  ): Promise<Authentication> {
    due.delete(digest);
    const attempt = { source, spentMs: 0 };
    const outcome = compare(plaintext, digest, candidates, attempt).finally(() => {
      verifying.delete(digest);
      if (refreshing === digest) refreshing = undefined;
      refreshNext();
    });
    verifying.set(digest, { attempt, outcome });
    return outcome;
  }

  /** Whoever frees a slot calls this first, so that no flood of unknown keys keeps the known ones from it. */
  function refreshNext(): void {
    if (refreshing !== undefined || verifying.size >= SLOTS) return;
    const next = due.entries().next();
    if (next.done === true) return;
    const [digest, start] = next.value;
    refreshing = digest;
    // A failure changes nothing: the entry ends in its time and the next use verifies for itself.
    start().catch(() => undefined);
  }

  function refresh(plaintext: string, digest: string, candidate: Candidate, source: string): void {
    if (verifying.has(digest) || due.has(digest)) return;
    due.set(digest, () => begin(plaintext, digest, [candidate], source));
    refreshNext();
  }

  return {
    authenticate(credential, source) {
      if (!canBeKey(credential)) return 'invalid';
      const digest = hash('sha256', credential, 'base64');
      const match = known.get(digest);
      if (match !== undefined && !hasExpired(match)) {
        counters.cacheHits++;
        if (known.remainingMs(digest) < REFRESH_BEFORE_MS) refresh(credential, digest, match, source);
        return match.principal;
      }
      counters.cacheMisses++;
      const candidates = candidatesFor(credential);
      if (candidates.length === 0 || refused.get(digest) === true) return 'invalid';
      const shared = verifying.get(digest);
      if (shared !== undefined) return shared.outcome;
      if (verifying.size >= SLOTS) return 'busy';
      const mayGuess = guesses.take(source);
      if (!mayGuess.ok) return { retryAfterSeconds: mayGuess.retryAfterSeconds };
      return begin(credential, digest, candidates, source);
    },
    setRevoked(keyIds) {
      revoked = new Set(keyIds);
    },
    get counters() {
      return { ...counters, slotsInUse: verifying.size };
    },
  };
}
