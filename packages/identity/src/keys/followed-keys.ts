import { importFingerprint } from './import-keys.ts';
import { findKey, replaceKeys, type VerificationKey } from './known-keys.ts';
import type { KeySet, ShownKeys } from './key-set.ts';

export interface KeysAnswer {
  readonly keys: ShownKeys;
  /** How long `refetch` would do nothing. */
  readonly askAgainInMs: number;
}

/** The keys of an issuer that another process fetches. */
export interface FollowingKeySet extends KeySet {
  /** The other process has fetched. */
  show(keys: ShownKeys): void;
}

/**
 * Has the keys that the other process has, and asks it where that one would ask the issuer: at once for its first keys,
 * and for a key that is not known. `onChange` is called when the keys are others.
 */
export function followKeySet(options: {
  /** `again` if the keys of the other process are not enough. */
  readonly ask: (again: boolean) => Promise<KeysAnswer>;
  readonly onChange: () => void;
  readonly onClose: () => void;
  readonly now: () => number;
}): FollowingKeySet {
  const { ask, onChange, onClose, now } = options;
  let keys: readonly VerificationKey[] = [];
  let state: ShownKeys['state'] = 'unknown';
  let retryAt = 0;
  let askAgainAt = Number.NEGATIVE_INFINITY;
  let running: Promise<void> | undefined;
  let latest = 0;

  async function install(shown: ShownKeys): Promise<void> {
    const order = ++latest;
    const known = new Map(keys.map((key) => [key.fingerprint, key]));
    const imported = await Promise.all(
      shown.fingerprints.map(async (text) => known.get(text) ?? importFingerprint(text)),
    );
    if (order !== latest) return;
    const before = keys;
    keys = replaceKeys(
      keys,
      imported.filter((key) => key !== undefined),
    );
    retryAt = now() + shown.retryAfterSeconds * 1000;
    const isChanged =
      state !== shown.state || keys.length !== before.length || keys.some((key) => !before.includes(key));
    state = shown.state;
    if (isChanged) onChange();
  }

  async function refetch(): Promise<void> {
    const again = state !== 'unknown';
    try {
      const answer = await ask(again);
      if (again) askAgainAt = now() + answer.askAgainInMs;
      await install(answer.keys);
    } catch {
      // The other process is gone: what is known serves on.
    } finally {
      running = undefined;
    }
  }

  const set: FollowingKeySet = {
    find: (alg, kid) => (state === 'unknown' || state === 'none' ? 'unavailable' : findKey(keys, alg, kid)),
    refetch() {
      if (running === undefined && now() >= askAgainAt) running = refetch();
      return running;
    },
    show: (shown) => void install(shown),
    get isFirstFetch() {
      return state === 'unknown';
    },
    get retryAfterSeconds() {
      return Math.max(1, Math.ceil((retryAt - now()) / 1000));
    },
    fetchFailures: 0,
    close: onClose,
  };
  void set.refetch();
  return set;
}
