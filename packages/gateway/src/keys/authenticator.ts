import { hash } from 'node:crypto';
import { createRateLimiter } from '../http/rate-limit.ts';
import { createExpiringMap } from './expiring-map.ts';
import { canBeKey, keyFormOf } from './key-form.ts';
import type { KeyRecord } from './key-record.ts';

/** `invalid` answers 401, the others 429. */
type Authentication = KeyRecord | 'invalid' | 'busy' | TooManyGuesses;

/** A source whose wrong keys have cost enough for now. */
interface TooManyGuesses {
  readonly retryAfterSeconds: number;
}

export interface Authenticator {
  /**
   * Whose key this is. Answers at once whenever no bcrypt is needed, which is so for every key in use;
   * otherwise a promise, which rejects when the verification itself fails. `source` is whom wrong keys are counted by.
   */
  authenticate(credential: string, source: string): Authentication | Promise<Authentication>;
  readonly counters: AuthenticationCounters;
}

/** For the metrics. Hits and misses grow; slots are as they are now. */
interface AuthenticationCounters {
  readonly cacheHits: number;
  readonly cacheMisses: number;
  readonly slotsInUse: number;
  readonly slots: number;
}

/** All three from the specification, section 5.1. */
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
/** A key in use is verified anew this long before it leaves the cache, so that no call waits for it. */
const REFRESH_BEFORE_MS = 30_000;

/** `verify` compares a plaintext with a bcrypt hash off the event loop; `now` is monotonic milliseconds. */
export function createAuthenticator(options: {
  readonly records: readonly KeyRecord[];
  readonly verify: (plaintext: string, bcryptHash: string) => Promise<boolean>;
  readonly now: () => number;
}): Authenticator {
  const { records, verify, now } = options;
  const byKeyId = new Map<string, KeyRecord>();
  const withoutKeyId: KeyRecord[] = [];
  for (const record of records) {
    if (record.keyId === undefined) withoutKeyId.push(record);
    else byKeyId.set(record.keyId, record);
  }
  // Digests only: neither memory ever holds a plaintext.
  const known = createExpiringMap<KeyRecord>({
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
  const verifying = new Map<string, Promise<Authentication>>();
  const counters = { cacheHits: 0, cacheMisses: 0, slots: SLOTS };

  function candidatesFor(plaintext: string): readonly KeyRecord[] {
    const form = keyFormOf(plaintext);
    if (form.kind === 'other') return withoutKeyId;
    const record = byKeyId.get(form.keyId);
    if (record !== undefined) return [record];
    return form.complete ? [] : withoutKeyId;
  }

  async function compare(
    plaintext: string,
    digest: string,
    candidates: readonly KeyRecord[],
    source: string,
  ): Promise<Authentication> {
    const startedAt = now();
    for (const record of candidates) {
      if (await verify(plaintext, record.keyHash)) {
        known.set(digest, record);
        return record;
      }
    }
    refused.set(digest, true);
    guesses.spend(source, now() - startedAt);
    return 'invalid';
  }

  /** Takes a slot until the comparison ends; everyone who presents the same key meanwhile shares it. */
  function begin(
    plaintext: string,
    digest: string,
    candidates: readonly KeyRecord[],
    source: string,
  ): Promise<Authentication> {
    const outcome = compare(plaintext, digest, candidates, source).finally(() => verifying.delete(digest));
    verifying.set(digest, outcome);
    return outcome;
  }

  function refresh(plaintext: string, digest: string, record: KeyRecord, source: string): void {
    if (verifying.size > 0) return;
    // A failure changes nothing: the entry ends in its time and the next use verifies for itself.
    begin(plaintext, digest, [record], source).catch(() => undefined);
  }

  return {
    authenticate(credential, source) {
      if (!canBeKey(credential)) return 'invalid';
      const digest = hash('sha256', credential, 'base64');
      const record = known.get(digest);
      if (record !== undefined) {
        counters.cacheHits++;
        if (known.remainingMs(digest) < REFRESH_BEFORE_MS) refresh(credential, digest, record, source);
        return record;
      }
      counters.cacheMisses++;
      const candidates = candidatesFor(credential);
      if (candidates.length === 0 || refused.get(digest) === true) return 'invalid';
      const shared = verifying.get(digest);
      if (shared !== undefined) return shared;
      if (verifying.size >= SLOTS) return 'busy';
      const mayGuess = guesses.take(source);
      if (!mayGuess.ok) return { retryAfterSeconds: mayGuess.retryAfterSeconds };
      return begin(credential, digest, candidates, source);
    },
    get counters() {
      return { ...counters, slotsInUse: verifying.size };
    },
  };
}
