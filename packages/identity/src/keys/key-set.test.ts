import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { createSigningKey } from '../model/issuer.testing.ts';
import { importKeys, type ImportedKeys } from './import-keys.ts';
import { createKeySet, type KeySet } from './key-set.ts';
import type { KeysEvent } from './keys-event.ts';
import { KeysProblem } from './keys-problem.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const A = createSigningKey('ES256', { kid: 'a' });
const B = createSigningKey('ES256', { kid: 'b' });

const imported = async (...keys: readonly (typeof A)[]): Promise<ImportedKeys> =>
  importKeys(Buffer.from(JSON.stringify({ keys: keys.map(({ jwk }) => jwk) })), ['ES256']);

/** A set whose fetches end when the test says so; its timers and its clock are the test's. */
class Setup {
  readonly events: KeysEvent[] = [];
  readonly fetches: {
    readonly settle: (keys: ImportedKeys) => void;
    readonly fail: (error?: Error) => void;
    readonly signal: AbortSignal;
  }[] = [];
  readonly keySet: KeySet;

  constructor(options: { readonly refreshMs?: number } = {}) {
    this.keySet = createKeySet({
      name: 'own',
      refreshMs: options.refreshMs ?? 10 * MINUTE,
      maxStaleMs: 24 * HOUR,
      onKeys: (event) => this.events.push(event),
      now: () => performance.now(),
      fetch: async (signal) =>
        new Promise((settle, fail) => {
          signal.addEventListener('abort', () => fail(new Error('aborted')));
          this.fetches.push({ settle, fail: (error = new KeysProblem('lost')) => fail(error), signal });
        }),
    });
  }

  /** Ends the fetch that is under way with these keys, or with a failure. */
  async end(keys: ImportedKeys | 'failure'): Promise<void> {
    const fetch = this.fetches.at(-1);
    if (keys === 'failure') fetch?.fail();
    else fetch?.settle(keys);
    await vi.advanceTimersByTimeAsync(0);
  }
}

let setup: Setup;

beforeEach(() => {
  vi.useFakeTimers();
  setup = new Setup();
});
afterEach(() => {
  setup.keySet.close();
  vi.useRealTimers();
});

describe('the keys of an issuer', () => {
  it('are unavailable until they have been fetched, which begins at once', async () => {
    expect(setup.fetches).toHaveLength(1);
    expect(setup.keySet.find('ES256', 'a')).toBe('unavailable');
    await setup.end(await imported(A));
    expect(setup.keySet.find('ES256', 'a')).toMatchObject({ kid: 'a', alg: 'ES256' });
    expect(setup.keySet.find('ES256', 'b')).toBe('unknown_key');
    expect(setup.keySet.find('RS256', 'a')).toBe('algorithm');
  });

  it('are not chosen where two fit', async () => {
    await setup.end(await imported(A, B, { ...B, jwk: { ...B.jwk, kid: 'a' } }));
    expect(setup.keySet.find('ES256', 'a')).toBe('ambiguous_key');
    expect(setup.keySet.find('ES256', undefined)).toBe('ambiguous_key');
    expect(setup.keySet.find('ES256', 'b')).toMatchObject({ kid: 'b' });
  });

  it('are fetched again and again', async () => {
    await setup.end(await imported(A));
    await vi.advanceTimersByTimeAsync(10 * MINUTE - 1);
    expect(setup.fetches).toHaveLength(1);
    await vi.advanceTimersByTimeAsync(1);
    expect(setup.fetches).toHaveLength(2);
    await setup.end(await imported(B));
    expect(setup.keySet.find('ES256', 'a')).toBe('unknown_key');
    expect(setup.keySet.find('ES256', 'b')).toMatchObject({ kid: 'b' });
  });

  it('stay the same objects, or are retired', async () => {
    await setup.end(await imported(A, B));
    const a = setup.keySet.find('ES256', 'a');
    const b = setup.keySet.find('ES256', 'b');
    await vi.advanceTimersByTimeAsync(10 * MINUTE);
    await setup.end(await imported(A));
    expect(setup.keySet.find('ES256', 'a')).toBe(a);
    expect(a).toMatchObject({ retired: false });
    expect(b).toMatchObject({ retired: true });
  });

  it('31: serve on while fetches fail, for 24 hours', async () => {
    await setup.end(await imported(A));
    const key = setup.keySet.find('ES256', 'a');
    await vi.advanceTimersByTimeAsync(10 * MINUTE);
    await setup.end('failure');
    for (let seconds = 600; seconds < 24 * 3600 - 30; seconds += 30) {
      await vi.advanceTimersByTimeAsync(30_000);
      await setup.end('failure');
    }
    expect(setup.keySet.find('ES256', 'a')).toBe(key);
    await vi.advanceTimersByTimeAsync(30_000);
    await setup.end('failure');
    expect(setup.keySet.find('ES256', 'a')).toBe('unavailable');
    expect(key).toMatchObject({ retired: true });
    await vi.advanceTimersByTimeAsync(30_000);
    await setup.end(await imported(A));
    expect(setup.keySet.find('ES256', 'a')).toMatchObject({ kid: 'a', retired: false });
    expect(
      setup.events.map((event) => (event.event === 'keys_fetched' ? event.keys : event.keys_serve)),
    ).toEqual([1, true, false, 1]);
  });

  it('are asked for again after 30 seconds when a fetch has failed, sooner where that is usual', async () => {
    await setup.end('failure');
    expect(setup.keySet.retryAfterSeconds).toBe(30);
    await vi.advanceTimersByTimeAsync(30_000);
    expect(setup.fetches).toHaveLength(2);
    expect(setup.keySet.retryAfterSeconds).toBe(1);

    const quick = new Setup({ refreshMs: 5000 });
    await quick.end('failure');
    await vi.advanceTimersByTimeAsync(5000);
    expect(quick.fetches).toHaveLength(2);
    quick.keySet.close();
  });

  it('are asked for once in 30 seconds by those who miss one, together', async () => {
    await setup.end(await imported(A));
    const asked = setup.keySet.refetch();
    expect(setup.keySet.refetch()).toBe(asked);
    expect(setup.fetches).toHaveLength(2);
    await setup.end('failure');
    await asked;
    expect(setup.keySet.refetch()).toBe(undefined);
    await vi.advanceTimersByTimeAsync(29_999);
    expect(setup.keySet.refetch()).toBe(undefined);
    expect(setup.fetches).toHaveLength(2);
    await vi.advanceTimersByTimeAsync(1);
    await setup.end('failure');
    expect(setup.keySet.refetch()).toBeInstanceOf(Promise);
  });

  it('are not waited for longer than 5 seconds', async () => {
    const waited = setup.keySet.refetch();
    await vi.advanceTimersByTimeAsync(4999);
    expect(setup.fetches[0]?.signal.aborted).toBe(false);
    await vi.advanceTimersByTimeAsync(1);
    expect(setup.fetches[0]?.signal.aborted).toBe(true);
    await waited;
    expect(setup.keySet.find('ES256', 'a')).toBe('unavailable');
  });

  it('are told of when something changes, not at each fetch', async () => {
    await setup.end('failure');
    await vi.advanceTimersByTimeAsync(30_000);
    await setup.end('failure');
    await vi.advanceTimersByTimeAsync(30_000);
    await setup.end(await imported(A));
    await vi.advanceTimersByTimeAsync(10 * MINUTE);
    await setup.end(await imported(A));
    await vi.advanceTimersByTimeAsync(10 * MINUTE);
    await setup.end('failure');
    await vi.advanceTimersByTimeAsync(30_000);
    await setup.end('failure');
    await vi.advanceTimersByTimeAsync(30_000);
    await setup.end(await imported(A));
    await vi.advanceTimersByTimeAsync(10 * MINUTE);
    await setup.end(await imported(A, B));
    expect(setup.events).toEqual([
      { event: 'keys_fetch_failed', issuer: 'own', reason: 'lost', keys_serve: false },
      { event: 'keys_fetched', issuer: 'own', keys: 1, left_out: 0 },
      { event: 'keys_fetch_failed', issuer: 'own', reason: 'lost', keys_serve: true },
      { event: 'keys_fetched', issuer: 'own', keys: 1, left_out: 0 },
      { event: 'keys_fetched', issuer: 'own', keys: 2, left_out: 0 },
    ]);
    expect(setup.keySet.fetchFailures).toBe(4);
  });

  it('are fetched no more once the set is closed, and nothing is left', async () => {
    await setup.end(await imported(A));
    expect(vi.getTimerCount()).toBe(1);
    const asked = setup.keySet.refetch();
    setup.keySet.close();
    await asked;
    expect(setup.fetches[1]?.signal.aborted).toBe(true);
    expect(vi.getTimerCount()).toBe(0);
    await vi.advanceTimersByTimeAsync(30_000);
    expect(setup.keySet.refetch()).toBe(undefined);
    expect(setup.fetches).toHaveLength(2);
    expect(setup.events).toHaveLength(1);
  });

  it('keep no process from its end, neither while they are fetched nor between', async () => {
    vi.useRealTimers();
    const timers = (): number => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length;
    const before = timers();
    const idle = new Setup();
    expect(timers()).toBe(before);
    idle.fetches[0]?.settle(await imported(A));
    await idle.keySet.refetch();
    expect(idle.keySet.find('ES256', 'a')).toMatchObject({ kid: 'a' });
    expect(timers()).toBe(before);
    idle.keySet.close();
  });
});
