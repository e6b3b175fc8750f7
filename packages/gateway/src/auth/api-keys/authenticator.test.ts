import fc from 'fast-check';
import { describe, expect, it, test } from 'vitest';
import { createAuthenticator, type Authenticator } from './authenticator.ts';
import type { Principal } from '../../core/principal.ts';
import { createSharePermissions } from '../permission-sets.ts';
import { keyPrincipal, keyRecord } from '../../core/principal.testing.ts';
import type { KeyRecord } from './key-record.ts';

const MINUTE = 60_000;

const record = (name: string, keyId?: string): KeyRecord => keyRecord(name, { keyId });
const principalOf = ({ name, capabilities }: KeyRecord): Principal => keyPrincipal(name, capabilities);
const sharePermissions = createSharePermissions();

/** An authenticator whose verifications end when the test says so, with a clock that the test moves. */
function setUp(records: readonly KeyRecord[]) {
  const pending: { plaintext: string; hash: string; settle: (matches: boolean) => void; fail: () => void }[] =
    [];
  const clock = { ms: 0 };
  const authenticator = createAuthenticator({
    services: [{ id: 'default', keys: records }],
    now: () => clock.ms,
    wallClock: () => clock.ms,
    sharePermissions,
    verify: (plaintext, hash) =>
      new Promise((resolve, reject) => {
        pending.push({ plaintext, hash, settle: resolve, fail: () => reject(new Error('thread lost')) });
      }),
  });
  return { authenticator, pending, clock };
}

/** Authenticates and lets the one verification end. */
async function verifyOnce(setup: ReturnType<typeof setUp>, plaintext: string, matches: boolean) {
  const outcome = setup.authenticator.authenticate(plaintext, 'source', 'default');
  expect(setup.pending).toHaveLength(1);
  setup.pending.pop()?.settle(matches);
  return await outcome;
}

const alice = record('alice');
const bob = record('bob');
const created = record('created', 'abc123');
const secret = 's'.repeat(48);

describe('wrong keys', () => {
  /** How many of so many different wrong keys, one after the other, were compared. */
  async function guess(setup: ReturnType<typeof setUp>, source: string, count: number): Promise<number> {
    let compared = 0;
    for (let at = 0; at < count; at++) {
      const outcome = setup.authenticator.authenticate(
        `wrong ${source} ${setup.clock.ms} ${at}`,
        source,
        'default',
      );
      if (!(outcome instanceof Promise)) continue;
      compared++;
      setup.clock.ms += 100;
      setup.pending.pop()?.settle(false);
      await outcome;
    }
    return compared;
  }

  it('may cost their source ten seconds of comparing, then a twentieth of the time', async () => {
    const setup = setUp([alice]);
    const first = await guess(setup, 'a', 1000);
    // Each costs 100 ms of which 5 are given back meanwhile.
    expect(first).toBeGreaterThan(98);
    expect(first).toBeLessThan(110);
    expect(setup.authenticator.authenticate('one more', 'a', 'default')).toEqual({
      retryAfterSeconds: expect.any(Number),
    });
    setup.clock.ms += 20_000;
    const later = await guess(setup, 'a', 1000);
    expect(later).toBeGreaterThan(8);
    expect(later).toBeLessThan(13);
  });

  it('do not count against other sources, nor against keys that are known', async () => {
    const setup = setUp([alice]);
    expect(await verifyOnce(setup, 'key', true)).toEqual(principalOf(alice));
    await guess(setup, 'source', 1000);
    expect(setup.authenticator.authenticate('key', 'source', 'default')).toEqual(principalOf(alice));
    expect(await guess(setup, 'b', 5)).toBe(5);
  });

  it('are not what right keys count as', async () => {
    const setup = setUp([alice]);
    for (let at = 0; at < 500; at++) {
      const outcome = setup.authenticator.authenticate(`right ${at}`, 'a', 'default');
      setup.clock.ms += 100;
      setup.pending.pop()?.settle(true);
      expect(await outcome).toEqual(principalOf(alice));
    }
  });
});

describe('keys that are compared with many records', () => {
  const COMPARISON_MS = 250;
  const RECORDS = 100;
  const many = Array.from({ length: RECORDS }, (_, at) => record(String(at)));
  const principals = many.map(principalOf);

  /** One thread that compares: each comparison takes its time, one after the other; a key matches its record only. */
  function setUpThread() {
    const clock = { ms: 0 };
    const work = { comparisons: 0 };
    let thread = Promise.resolve();
    const authenticator = createAuthenticator({
      services: [{ id: 'default', keys: many }],
      now: () => clock.ms,
      wallClock: () => clock.ms,
      sharePermissions,
      verify: async (plaintext, hash) => {
        const turn = thread.then(() => {
          work.comparisons++;
          clock.ms += COMPARISON_MS;
        });
        thread = turn;
        await turn;
        return `hash of ${plaintext.replace(/^right /, '')}` === hash;
      },
    });
    const present = async (keys: readonly string[], source = 'a') =>
      await Promise.all(keys.map(async (key) => authenticator.authenticate(key, source, 'default')));
    return { clock, work, authenticator, present };
  }

  const WRONG = ['wrong 1', 'wrong 2', 'wrong 3', 'wrong 4'];

  it('cost their source little more than one of them when four are wrong at once', async () => {
    const { work, present, authenticator } = setUpThread();
    const outcomes = await present(WRONG);
    const tooMany = { retryAfterSeconds: expect.any(Number) };
    expect(outcomes).toEqual(['invalid', tooMany, tooMany, tooMany]);
    expect(work.comparisons).toBeLessThan(RECORDS + 10_000 / COMPARISON_MS + 4);
    expect(authenticator.counters.slotsInUse).toBe(0);
  });

  it('are not remembered as refused when they were not compared with all', async () => {
    const { clock, present } = setUpThread();
    await present(['wrong 1', 'wrong 2', 'wrong 3', 'right 99']);
    clock.ms += 3_600_000;
    expect(await present(['right 99'])).toEqual([principals[99]]);
  });

  it('are all found when they are right, however late their records come', async () => {
    const { present } = setUpThread();
    const keys = ['right 99', 'right 98', 'right 97', 'right 96'];
    expect(await present(keys)).toEqual([principals[99], principals[98], principals[97], principals[96]]);
    // Nothing was charged for them: a wrong key is still compared with all.
    expect(await present(['wrong'])).toEqual(['invalid']);
  });

  it('are found beside the wrong ones of another source', async () => {
    const { present } = setUpThread();
    const [wrong, right] = await Promise.all([
      present(['wrong 1', 'wrong 2', 'wrong 3'], 'a'),
      present(['right 99'], 'b'),
    ]);
    expect(right).toEqual([principals[99]]);
    expect(wrong[0]).toBe('invalid');
  });

  it('go on when the comparison they wait for fails', async () => {
    const failing = { at: 60 };
    const clock = { ms: 0 };
    const authenticator = createAuthenticator({
      services: [{ id: 'default', keys: many }],
      now: () => clock.ms,
      wallClock: () => clock.ms,
      sharePermissions,
      verify: async (plaintext, hash) => {
        await Promise.resolve();
        clock.ms += COMPARISON_MS;
        if (plaintext === 'lost' && hash === `hash of ${failing.at}`) throw new Error('thread lost');
        return plaintext === 'right' && hash === 'hash of 99';
      },
    });
    const lost = authenticator.authenticate('lost', 'a', 'default');
    const right = authenticator.authenticate('right', 'a', 'default');
    await expect(lost).rejects.toThrow('thread lost');
    expect(await right).toEqual(principals[99]);
  });
});

describe('known keys beside unknown ones', () => {
  /** Four unknown keys hold all slots when the known ones are next used. */
  async function setUpBusy(keys: readonly string[]) {
    const setup = setUp([alice]);
    for (const key of keys) await verifyOnce(setup, key, true);
    setup.clock.ms = 4.5 * MINUTE;
    for (let at = 0; at < 4; at++)
      void setup.authenticator.authenticate(`unknown ${at}`, `other source ${at}`, 'default');
    for (const key of keys)
      expect(setup.authenticator.authenticate(key, 'source', 'default')).toEqual(principalOf(alice));
    expect(setup.pending).toHaveLength(4);
    return setup;
  }

  it('are verified again while some slots are in use', async () => {
    const setup = setUp([alice]);
    await verifyOnce(setup, 'key', true);
    setup.clock.ms = 4.5 * MINUTE;
    void setup.authenticator.authenticate('unknown', 'other source', 'default');
    expect(setup.authenticator.authenticate('key', 'source', 'default')).toEqual(principalOf(alice));
    expect(setup.pending.map(({ plaintext }) => plaintext)).toEqual(['unknown', 'key']);
  });

  it('get the first slot that is free, and live on', async () => {
    const setup = await setUpBusy(['key']);
    setup.pending[0]?.settle(false);
    await expect.poll(() => setup.pending.length).toBe(5);
    expect(setup.pending[4]?.plaintext).toBe('key');
    expect(setup.authenticator.authenticate('one more', 'other source 5', 'default')).toBe('busy');
    setup.pending[4]?.settle(true);
    await expect.poll(() => setup.authenticator.counters.slotsInUse).toBe(3);
    setup.clock.ms = 6 * MINUTE;
    expect(setup.authenticator.authenticate('key', 'source', 'default')).toEqual(principalOf(alice));
  });

  it('take one slot at a time', async () => {
    const setup = await setUpBusy(['first', 'second']);
    for (const { settle } of setup.pending) settle(false);
    await expect.poll(() => setup.pending.length).toBe(5);
    await expect.poll(() => setup.authenticator.counters.slotsInUse).toBe(1);
    setup.pending[4]?.settle(true);
    await expect.poll(() => setup.pending.length).toBe(6);
    expect(setup.pending[5]?.plaintext).toBe('second');
  });
});

describe('authenticate', () => {
  it.each(['', 'x'.repeat(73), 'caf\u00e9', 'tab\there', 'line\nend', '\u0000', '\u007f'])(
    'refuses %j at once, without a verification',
    (plaintext) => {
      const { authenticator, pending } = setUp([alice]);
      expect(authenticator.authenticate(plaintext, 'source', 'default')).toBe('invalid');
      expect(pending).toHaveLength(0);
    },
  );

  it('compares a created key with its own record only', async () => {
    const { authenticator, pending } = setUp([alice, created, record('other', 'xyz')]);
    const outcome = authenticator.authenticate(`svc_abc123_${secret}`, 'source', 'default');
    expect(pending.map((job) => job.hash)).toEqual([created.keyHash]);
    pending[0]?.settle(true);
    expect(await outcome).toEqual(principalOf(created));
  });

  it('refuses a created key of an unknown record without any verification', () => {
    const { authenticator, pending } = setUp([alice, created]);
    expect(authenticator.authenticate(`svc_nobody_${secret}`, 'source', 'default')).toBe('invalid');
    expect(pending).toHaveLength(0);
  });

  it('compares other keys with the records without key_id, one after another, in one slot', async () => {
    const { authenticator, pending } = setUp([alice, created, bob]);
    const outcome = authenticator.authenticate('made elsewhere', 'source', 'default');
    expect(pending.map((job) => job.hash)).toEqual([alice.keyHash]);
    pending[0]?.settle(false);
    await expect.poll(() => pending.length).toBe(2);
    expect(pending[1]?.hash).toBe(bob.keyHash);
    expect(authenticator.counters.slotsInUse).toBe(1);
    pending[1]?.settle(true);
    expect(await outcome).toEqual(principalOf(bob));
    expect(authenticator.counters.slotsInUse).toBe(0);
  });

  it('takes a short key that only looks like a created one for one made elsewhere', () => {
    const { authenticator, pending } = setUp([alice]);
    void authenticator.authenticate('svc_live_key', 'source', 'default');
    expect(pending.map((job) => job.hash)).toEqual([alice.keyHash]);
  });

  it('answers a known key at once, for five minutes', { tags: ['credential:cache'] }, async () => {
    const setup = setUp([alice]);
    expect(await verifyOnce(setup, 'key', true)).toEqual(principalOf(alice));
    setup.clock.ms = 4 * MINUTE;
    expect(setup.authenticator.authenticate('key', 'source', 'default')).toEqual(principalOf(alice));
    expect(setup.pending).toHaveLength(0);
    setup.clock.ms = 5 * MINUTE;
    expect(await verifyOnce(setup, 'key', true)).toEqual(principalOf(alice));
    expect(setup.authenticator.counters).toMatchObject({ cacheHits: 1, cacheMisses: 2 });
  });

  it('verifies a key in use again before it leaves the cache, while it keeps answering', async () => {
    const setup = setUp([alice]);
    await verifyOnce(setup, 'key', true);
    setup.clock.ms = 4.9 * MINUTE;
    expect(setup.authenticator.authenticate('key', 'source', 'default')).toEqual(principalOf(alice));
    expect(setup.authenticator.authenticate('key', 'source', 'default')).toEqual(principalOf(alice));
    expect(setup.pending).toHaveLength(1);
    setup.pending[0]?.settle(true);
    await expect.poll(() => setup.authenticator.counters.slotsInUse).toBe(0);
    setup.clock.ms = 8.5 * MINUTE;
    expect(setup.authenticator.authenticate('key', 'source', 'default')).toEqual(principalOf(alice));
    expect(setup.pending).toHaveLength(1);
  });

  it('ends the entry in its time when that verification fails', async () => {
    const setup = setUp([alice]);
    await verifyOnce(setup, 'key', true);
    setup.clock.ms = 4.9 * MINUTE;
    void setup.authenticator.authenticate('key', 'source', 'default');
    setup.pending.pop()?.fail();
    await expect.poll(() => setup.authenticator.counters.slotsInUse).toBe(0);
    setup.clock.ms = 5 * MINUTE;
    expect(setup.authenticator.authenticate('key', 'source', 'default')).toBeInstanceOf(Promise);
  });

  it('remembers a refusal for a short time', async () => {
    const setup = setUp([alice]);
    expect(await verifyOnce(setup, 'wrong', false)).toBe('invalid');
    expect(setup.authenticator.authenticate('wrong', 'source', 'default')).toBe('invalid');
    expect(setup.pending).toHaveLength(0);
    setup.clock.ms = 10_000;
    expect(await verifyOnce(setup, 'wrong', false)).toBe('invalid');
  });

  it('shares one verification among those who present the same key together', async () => {
    const { authenticator, pending } = setUp([alice]);
    const outcomes = Array.from({ length: 10 }, async () =>
      authenticator.authenticate('key', 'source', 'default'),
    );
    expect(pending).toHaveLength(1);
    expect(authenticator.counters.slotsInUse).toBe(1);
    pending[0]?.settle(true);
    expect(await Promise.all(outcomes)).toEqual(Array(10).fill(principalOf(alice)));
  });

  it('verifies four keys at once and answers the fifth with busy', async () => {
    const { authenticator, pending } = setUp([alice]);
    const first = ['one', 'two', 'three', 'four'].map((key) =>
      authenticator.authenticate(key, 'source', 'default'),
    );
    expect(authenticator.authenticate('five', 'source', 'default')).toBe('busy');
    expect(authenticator.authenticate('four', 'source', 'default')).toBeInstanceOf(Promise);
    expect(pending).toHaveLength(4);
    pending[0]?.settle(true);
    expect(await first[0]).toEqual(principalOf(alice));
    expect(authenticator.authenticate('five', 'source', 'default')).toBeInstanceOf(Promise);
    expect(authenticator.authenticate('one', 'source', 'default')).toEqual(principalOf(alice));
  });

  it('frees the slot and forgets the attempt when the verification fails', async () => {
    const { authenticator, pending } = setUp([alice]);
    const outcome = authenticator.authenticate('key', 'source', 'default');
    pending.pop()?.fail();
    await expect(outcome).rejects.toThrow('thread lost');
    expect(authenticator.counters.slotsInUse).toBe(0);
    expect(authenticator.authenticate('key', 'source', 'default')).toBeInstanceOf(Promise);
  });

  it('remembers 1,024 keys and no more', { tags: ['credential:cache-bound'] }, async () => {
    const authenticator = createAuthenticator({
      services: [{ id: 'default', keys: [alice] }],
      now: () => 0,
      wallClock: () => 0,
      sharePermissions,
      verify: async () => true,
    });
    for (let index = 0; index < 1024; index++)
      await authenticator.authenticate(`key ${index}`, 'source', 'default');
    for (let index = 0; index < 1024; index++)
      expect(authenticator.authenticate(`key ${index}`, 'source', 'default')).toEqual(principalOf(alice));
    await authenticator.authenticate('one more', 'source', 'default');
    expect(authenticator.authenticate('key 1', 'source', 'default')).toEqual(principalOf(alice));
    expect(authenticator.authenticate('key 0', 'source', 'default')).toBeInstanceOf(Promise);
  });

  it('never remembers more than 1,024 refusals', async () => {
    const authenticator = createAuthenticator({
      services: [{ id: 'default', keys: [alice] }],
      now: () => 0,
      wallClock: () => 0,
      sharePermissions,
      verify: async () => false,
    });
    for (let index = 0; index < 1100; index++)
      await authenticator.authenticate(`wrong ${index}`, 'source', 'default');
    expect(authenticator.authenticate('wrong 1099', 'source', 'default')).toBe('invalid');
    expect(authenticator.authenticate('wrong 0', 'source', 'default')).toBeInstanceOf(Promise);
  });

  it('never gives a key to another record, and never takes more than four slots', async () => {
    const plaintexts = ['first', 'second', `svc_k1_${secret}`, `svc_k1_${secret}x`, `svc_k2_${secret}`];
    const records: readonly KeyRecord[] = [
      keyRecord('first', { keyHash: 'first' }),
      keyRecord('k1', { keyHash: `svc_k1_${secret}`, keyId: 'k1' }),
    ];
    await fc.assert(
      fc.asyncProperty(fc.array(fc.constantFrom(...plaintexts), { maxLength: 30 }), async (sequence) => {
        let running = 0;
        let most = 0;
        const authenticator: Authenticator = createAuthenticator({
          services: [{ id: 'default', keys: records }],
          now: () => 0,
          wallClock: () => 0,
          sharePermissions,
          verify: async (plaintext, hash) => {
            most = Math.max(most, ++running);
            await Promise.resolve();
            running--;
            return plaintext === hash;
          },
        });
        const outcomes = await Promise.all(
          sequence.map(async (key) => authenticator.authenticate(key, 'source', 'default')),
        );
        for (const [index, outcome] of outcomes.entries()) {
          const owner = records.find((candidate) => candidate.keyHash === sequence[index]);
          expect(['busy', owner === undefined ? 'invalid' : principalOf(owner)]).toContainEqual(outcome);
        }
        expect(most).toBeLessThanOrEqual(4);
        expect(authenticator.counters.slotsInUse).toBe(0);
      }),
    );
  });
});

describe('a key that expires', () => {
  const expiring = keyRecord('expiring', { keyId: 'abc123', expiresAtMs: 10_000 });
  const key = `svc_abc123_${secret}`;

  it('is unknown from then on, cached or not, and costs no comparison', async () => {
    const setup = setUp([expiring]);
    expect(await verifyOnce(setup, key, true)).toMatchObject({ name: 'expiring' });
    setup.clock.ms = 9_999;
    expect(setup.authenticator.authenticate(key, 'source', 'default')).toMatchObject({ name: 'expiring' });
    setup.clock.ms = 10_000;
    expect(setup.authenticator.authenticate(key, 'source', 'default')).toBe('invalid');
    const fresh = setUp([expiring]);
    fresh.clock.ms = 10_000;
    expect(fresh.authenticator.authenticate(key, 'source', 'default')).toBe('invalid');
    expect(fresh.pending).toHaveLength(0);
  });

  it('is unknown too when its time comes while it is compared', async () => {
    const setup = setUp([expiring]);
    const outcome = setup.authenticator.authenticate(key, 'source', 'default');
    setup.clock.ms = 10_000;
    setup.pending.pop()?.settle(true);
    expect(await outcome).toBe('invalid');
  });

  it('is no candidate for keys without key_id either, but others still are', async () => {
    const setup = setUp([keyRecord('old', { expiresAtMs: 10_000 }), alice]);
    setup.clock.ms = 10_000;
    const outcome = setup.authenticator.authenticate('key', 'source', 'default');
    expect(setup.pending.map(({ hash }) => hash)).toEqual(['hash of alice']);
    setup.pending.pop()?.settle(true);
    expect(await outcome).toEqual(principalOf(alice));
  });
});

test('keys of one principal are one caller with names of their own, and equal permissions are one object', async () => {
  const capabilities = (): ReadonlySet<string> => new Set(['a', 'b']);
  const claims = { org: 'north' };
  const of = (name: string, keyId: string): KeyRecord =>
    keyRecord(name, { keyId, principal: 'ann', capabilities: capabilities(), claims });
  const setup = setUp([of('first', 'k1'), of('second', 'k2')]);
  const first = await verifyOnce(setup, `svc_k1_${secret}`, true);
  const second = await verifyOnce(setup, `svc_k2_${secret}`, true);
  expect([first, second]).toMatchObject([
    { id: 'key:ann', name: 'first', claims, claimsJson: '{"org":"north"}' },
    { id: 'key:ann', name: 'second', claims },
  ]);
  const [a, b] = [first, second].map(
    (outcome) => typeof outcome === 'object' && 'permissions' in outcome && outcome.permissions,
  );
  expect(a).toBe(b);
});
