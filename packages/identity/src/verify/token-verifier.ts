import { hash, webcrypto } from 'node:crypto';
import { createExpiringMap } from '@svc/edge';
import type { Issuer } from '../model/issuer.ts';
import { fetchKeySet } from '../keys/fetch-keys.ts';
import { createHttpsFetch, type FetchBytes } from '../keys/https-fetch.ts';
import type { KeySet } from '../keys/key-set.ts';
import type { KeysEvent } from '../keys/keys-event.ts';
import type { VerificationKey } from '../keys/known-keys.ts';
import type { RefusedToken, TokenOutcome, TokenVerifier, VerifiedToken } from '../model/verified-token.ts';
import { judgeClaims } from './judge-claims.ts';
import { readToken, type UnverifiedToken } from './read-token.ts';
import { ALGORITHMS } from '../keys/algorithms.ts';

const TOKEN_MAX_LENGTH = 8192;
const CACHE_ENTRIES = 10_000;
const CACHE_LIFETIME_MS = 5 * 60_000;
/** Long enough to save work for a client that keeps sending a bad token, short enough to use little memory. */
const REFUSAL_LIFETIME_MS = 10_000;

interface VerifierOptions {
  readonly issuers: readonly Issuer[];
  readonly clockSkewMs: number;
  /** How often keys are fetched, and how long those of the last good fetch serve when fetches fail. */
  readonly refreshMs: number;
  readonly maxStaleMs: number;
  readonly onKeys: (event: KeysEvent) => void;
  /** Where the keys of issuers come from; absent: from them. `onChange` is to be called when they are others. */
  readonly openKeySet?: ((issuer: Issuer, onChange: () => void) => KeySet) | undefined;
  /** Monotonic milliseconds. */
  readonly now?: () => number;
  /** Milliseconds since 1970. */
  readonly wallClock?: () => number;
}

interface Remembered {
  readonly token: VerifiedToken;
  readonly key: VerificationKey;
}

/**
 * Verifies tokens of these issuers, whose keys it fetches in the background from now on. A token is remembered by its
 * digest alone. It is
 *   unknown    in none of the maps;
 *   verifying  in `verifying`: all who present it meanwhile share the outcome;
 *   verified   in `verified`, until it expires, its key leaves its set or its time is up;
 *   refused    in `refused`, until its time is up or other keys are known. What a lack of keys refuses is in none.
 */
export function createTokenVerifier(
  options: VerifierOptions,
  fetchBytes: FetchBytes = createHttpsFetch(() => undefined),
): TokenVerifier {
  const { issuers, clockSkewMs, refreshMs, maxStaleMs, onKeys } = options;
  const { now = () => performance.now(), wallClock = Date.now } = options;
  const byIss = new Map(issuers.map((issuer) => [issuer.issuer, issuer]));
  const bounds = { maxEntries: CACHE_ENTRIES, now };
  const verified = createExpiringMap<Remembered>({ ...bounds, lifetimeMs: CACHE_LIFETIME_MS });
  const refused = createExpiringMap<RefusedToken>({ ...bounds, lifetimeMs: REFUSAL_LIFETIME_MS });
  const verifying = new Map<string, Promise<TokenOutcome>>();
  const keySets = new Map(issuers.map((issuer) => [issuer, openKeySet(issuer)]));
  const counters = {
    cacheHits: 0,
    cacheMisses: 0,
    get fetchFailures() {
      return [...keySets.values()].reduce((sum, set) => sum + set.fetchFailures, 0);
    },
  };

  function openKeySet(issuer: Issuer): KeySet {
    // What an old key did not sign, a new one of the same name may have.
    const onChange = (): void => refused.clear();
    if (options.openKeySet !== undefined) return options.openKeySet(issuer, onChange);
    return fetchKeySet(issuer, fetchBytes, {
      refreshMs,
      maxStaleMs,
      now,
      onKeys(event) {
        onChange();
        onKeys(event);
      },
    });
  }

  async function verify(token: UnverifiedToken, digest: string): Promise<TokenOutcome> {
    const { issuer, alg, kid, payload } = token;
    const keySet = keySets.get(issuer);
    let key = keySet?.find(alg, kid) ?? 'unavailable';
    if (key === 'unknown_key' || keySet?.isFirstFetch === true) {
      await keySet?.refetch();
      key = keySet?.find(alg, kid) ?? 'unavailable';
    } else if (key === 'unavailable') {
      // An issuer that has not answered may not answer now: no call waits for that again.
      void keySet?.refetch();
    }
    if (key === 'unavailable') {
      return { kind: 'unavailable', issuer, retryAfterSeconds: keySet?.retryAfterSeconds ?? 1 };
    }
    if (typeof key === 'string') return { kind: 'refused', failure: key, issuer: undefined };

    const isSigned = await hasSignature(key, token.signature, token.signedBytes);
    const outcome = isSigned
      ? judgeClaims(payload, issuer, { nowMs: wallClock(), clockSkewMs })
      : 'signature';
    if (typeof outcome === 'string') {
      const refusal: RefusedToken = {
        kind: 'refused',
        failure: outcome,
        issuer: isSigned ? issuer : undefined,
      };
      refused.set(digest, refusal);
      return refusal;
    }
    verified.set(digest, { token: outcome, key });
    return outcome;
  }

  function recall(digest: string): VerifiedToken | RefusedToken | undefined {
    const match = verified.get(digest);
    if (match === undefined) return refused.get(digest);
    const { token, key } = match;
    if (!key.retired && wallClock() < token.expiresAt * 1000 + clockSkewMs) return token;
    verified.delete(digest);
    return undefined;
  }

  return {
    verify(token) {
      if (token.length > TOKEN_MAX_LENGTH) return refusedUnread('too_large');
      const digest = hash('sha256', token, 'base64');
      const known = recall(digest);
      if (known !== undefined) {
        counters.cacheHits++;
        return known;
      }
      counters.cacheMisses++;
      const running = verifying.get(digest);
      if (running !== undefined) return running;
      const read = readToken(token, byIss);
      if (typeof read === 'string') return refusedUnread(read);
      const outcome = verify(read, digest).finally(() => verifying.delete(digest));
      verifying.set(digest, outcome);
      return outcome;
    },
    counters,
    close() {
      for (const keySet of keySets.values()) keySet.close();
    },
  };
}

function refusedUnread(failure: RefusedToken['failure']): RefusedToken {
  return { kind: 'refused', failure, issuer: undefined };
}

/** Whether this key has signed these bytes. Off the event loop. */
async function hasSignature(
  { alg, key }: VerificationKey,
  signature: Uint8Array,
  bytes: Uint8Array,
): Promise<boolean> {
  const scheme = ALGORITHMS.get(alg)?.scheme;
  if (scheme === undefined) return false;
  try {
    return await webcrypto.subtle.verify(scheme, key, signature, bytes);
  } catch {
    // A signature of a form that no key makes.
    return false;
  }
}
