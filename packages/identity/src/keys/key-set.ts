import { errorText } from '@svc/edge';
import type { ImportedKeys } from './import-keys.ts';
import type { KeysEvent } from './keys-event.ts';
import { findKey, replaceKeys, type VerificationKey } from './known-keys.ts';

/** All steps of one fetch, discovery included. A call waits for it no longer. */
const FETCH_DEADLINE_MS = 5000;
/** At most this often does an unknown `kid` make us ask the issuer. */
const ASK_AGAIN_MS = 30_000;
/** A fetch that failed is tried again sooner than a good one. */
const RETRY_MS = 30_000;

/** The keys of one issuer, fetched in the background for as long as it is open. */
export interface KeySet {
  /** The one key that fits; otherwise why there is none, `unavailable` where no keys are known. */
  find(
    alg: string,
    kid: string | undefined,
  ): VerificationKey | 'unknown_key' | 'ambiguous_key' | 'algorithm' | 'unavailable';
  /** Asks the issuer again, all callers together; undefined when it was asked a moment ago. Never rejects. */
  refetch(): Promise<void> | undefined;
  /** Whether it has neither keys nor the failure of a fetch yet. */
  readonly isFirstFetch: boolean;
  readonly retryAfterSeconds: number;
  readonly fetchFailures: number;
  close(): void;
}

/** Of a set that others follow. */
export interface FollowedKeySet extends KeySet {
  /** How long `refetch` does nothing. */
  readonly askAgainInMs: number;
  /** As it is now. */
  readonly shown: ShownKeys;
}

/** What of a set crosses to another process. */
export interface ShownKeys {
  readonly state: KeySetState;
  /** Its public keys: all that `importFingerprint` needs. */
  readonly fingerprints: readonly string[];
  readonly retryAfterSeconds: number;
}

export interface KeySetOptions {
  readonly name: string;
  readonly fetch: (signal: AbortSignal) => Promise<ImportedKeys>;
  readonly refreshMs: number;
  readonly maxStaleMs: number;
  readonly onKeys: (event: KeysEvent) => void;
  readonly onFetched?: () => void;
  readonly now: () => number;
}

type KeySetState = 'unknown' | 'none' | 'current' | 'kept';

/**
 * Its keys are
 *   none     at first, and when fetches have failed for `maxStaleMs`: `drop`;
 *   current  after a fetch: `install`;
 *   kept     after one that failed.
 * `onKeys` hears of each change between these, and of other keys. `now` is a monotonic clock in milliseconds.
 */
export function createKeySet(options: KeySetOptions): FollowedKeySet {
  const { name, fetch, refreshMs, maxStaleMs, onKeys, onFetched, now } = options;
  let keys: readonly VerificationKey[] = [];
  let state: KeySetState = 'unknown';
  let fetchedAt = Number.NEGATIVE_INFINITY;
  let askedAt = Number.NEGATIVE_INFINITY;
  let nextAt = 0;
  let fetchFailures = 0;
  let running: { readonly abort: AbortController; readonly ended: Promise<void> } | undefined;
  let timer: NodeJS.Timeout | undefined;
  let isClosed = false;

  function run(): Promise<void> {
    clearTimeout(timer);
    const abort = new AbortController();
    const ended = attempt(abort).finally(() => {
      running = undefined;
      if (isClosed) return;
      const wait = state === 'current' ? refreshMs : Math.min(refreshMs, RETRY_MS);
      nextAt = now() + wait;
      timer = setTimeout(() => void run(), wait).unref();
      onFetched?.();
    });
    running = { abort, ended };
    return ended;
  }

  async function attempt(abort: AbortController): Promise<void> {
    const deadline = setTimeout(() => abort.abort(), FETCH_DEADLINE_MS).unref();
    try {
      const fetched = await fetch(abort.signal);
      if (!isClosed) install(fetched);
    } catch (error) {
      if (!isClosed) fail(errorText(error));
    } finally {
      clearTimeout(deadline);
    }
  }

  function install({ keys: fetched, used, leftOut }: ImportedKeys): void {
    const after = replaceKeys(keys, fetched);
    const isChanged = after.length !== keys.length || after.some((key) => !keys.includes(key));
    keys = after;
    fetchedAt = now();
    if (isChanged || state !== 'current')
      onKeys({ event: 'keys_fetched', issuer: name, keys: used, left_out: leftOut });
    state = 'current';
  }

  function fail(reason: string): void {
    fetchFailures++;
    const next = now() - fetchedAt < maxStaleMs ? 'kept' : 'none';
    if (next === 'none') {
      keys = replaceKeys(keys, []);
    }
    if (next !== state) {
      onKeys({ event: 'keys_fetch_failed', issuer: name, reason, keys_serve: next === 'kept' });
    }
    state = next;
  }

  const retryAfterSeconds = (): number => Math.max(1, Math.ceil((nextAt - now()) / 1000));

  void run();
  return {
    find(alg, kid) {
      return state === 'unknown' || state === 'none' ? 'unavailable' : findKey(keys, alg, kid);
    },
    refetch() {
      if (running !== undefined) return running.ended;
      if (isClosed || now() - askedAt < ASK_AGAIN_MS) return undefined;
      askedAt = now();
      return run();
    },
    get isFirstFetch() {
      return state === 'unknown';
    },
    get retryAfterSeconds() {
      return retryAfterSeconds();
    },
    get askAgainInMs() {
      return Math.max(0, askedAt + ASK_AGAIN_MS - now());
    },
    get shown() {
      const fingerprints = keys.map(({ fingerprint }) => fingerprint);
      return { state, fingerprints, retryAfterSeconds: retryAfterSeconds() };
    },
    get fetchFailures() {
      return fetchFailures;
    },
    close() {
      isClosed = true;
      clearTimeout(timer);
      running?.abort.abort();
    },
  };
}
