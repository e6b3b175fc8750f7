import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createAuthenticator, type Authenticator } from './authenticator.ts';
import type { KeyRecord } from './key-record.ts';

const MINUTE = 60_000;

function record(name: string, keyId?: string): KeyRecord {
  return { name, keyHash: `hash of ${name}`, keyId, capabilities: '*' };
}

/** An authenticator whose verifications end when the test says so, with a clock that the test moves. */
function setUp(records: readonly KeyRecord[]) {
  const pending: { plaintext: string; hash: string; settle: (matches: boolean) => void; fail: () => void }[] =
    [];
  const clock = { ms: 0 };
  const authenticator = createAuthenticator({
    records,
    now: () => clock.ms,
    verify: (plaintext, hash) =>
      new Promise((resolve, reject) => {
        pending.push({ plaintext, hash, settle: resolve, fail: () => reject(new Error('thread lost')) });
      }),
  });
  return { authenticator, pending, clock };
}

/** Authenticates and lets the one verification end. */
async function verifyOnce(setup: ReturnType<typeof setUp>, plaintext: string, matches: boolean) {
  const outcome = setup.authenticator.authenticate(plaintext);
  expect(setup.pending).toHaveLength(1);
  setup.pending.pop()?.settle(matches);
  return await outcome;
}

const alice = record('alice');
const bob = record('bob');
const created = record('created', 'abc123');
const secret = 's'.repeat(48);

describe('authenticate', () => {
  it.each(['', 'x'.repeat(73), 'caf\u00e9', 'tab\there', 'line\nend', '\u0000', '\u007f'])(
    'refuses %j at once, without a verification',
    (plaintext) => {
      const { authenticator, pending } = setUp([alice]);
      expect(authenticator.authenticate(plaintext)).toBe('invalid');
      expect(pending).toHaveLength(0);
    },
  );

  it('compares a created key with its own record only', async () => {
    const { authenticator, pending } = setUp([alice, created, record('other', 'xyz')]);
    const outcome = authenticator.authenticate(`svc_abc123_${secret}`);
    expect(pending.map((job) => job.hash)).toEqual([created.keyHash]);
    pending[0]?.settle(true);
    expect(await outcome).toBe(created);
  });

  it('refuses a created key of an unknown record without any verification', () => {
    const { authenticator, pending } = setUp([alice, created]);
    expect(authenticator.authenticate(`svc_nobody_${secret}`)).toBe('invalid');
    expect(pending).toHaveLength(0);
  });

  it('compares other keys with the records without key_id, one after another, in one slot', async () => {
    const { authenticator, pending } = setUp([alice, created, bob]);
    const outcome = authenticator.authenticate('made elsewhere');
    expect(pending.map((job) => job.hash)).toEqual([alice.keyHash]);
    pending[0]?.settle(false);
    await expect.poll(() => pending.length).toBe(2);
    expect(pending[1]?.hash).toBe(bob.keyHash);
    expect(authenticator.counters.slotsInUse).toBe(1);
    pending[1]?.settle(true);
    expect(await outcome).toBe(bob);
    expect(authenticator.counters.slotsInUse).toBe(0);
  });

  it('takes a short key that only looks like a created one for one made elsewhere', () => {
    const { authenticator, pending } = setUp([alice]);
    void authenticator.authenticate('svc_live_key');
    expect(pending.map((job) => job.hash)).toEqual([alice.keyHash]);
  });

  it('answers a known key at once, for five minutes', { tags: ['credential:cache'] }, async () => {
    const setup = setUp([alice]);
    expect(await verifyOnce(setup, 'key', true)).toBe(alice);
    setup.clock.ms = 4 * MINUTE;
    expect(setup.authenticator.authenticate('key')).toBe(alice);
    expect(setup.pending).toHaveLength(0);
    setup.clock.ms = 5 * MINUTE;
    expect(await verifyOnce(setup, 'key', true)).toBe(alice);
    expect(setup.authenticator.counters).toMatchObject({ cacheHits: 1, cacheMisses: 2 });
  });

  it('verifies a key in use anew before it leaves the cache, while it keeps answering', async () => {
    const setup = setUp([alice]);
    await verifyOnce(setup, 'key', true);
    setup.clock.ms = 4.9 * MINUTE;
    expect(setup.authenticator.authenticate('key')).toBe(alice);
    expect(setup.authenticator.authenticate('key')).toBe(alice);
    expect(setup.pending).toHaveLength(1);
    setup.pending[0]?.settle(true);
    await expect.poll(() => setup.authenticator.counters.slotsInUse).toBe(0);
    setup.clock.ms = 9 * MINUTE;
    expect(setup.authenticator.authenticate('key')).toBe(alice);
    expect(setup.pending).toHaveLength(1);
  });

  it('ends the entry in its time when that verification fails', async () => {
    const setup = setUp([alice]);
    await verifyOnce(setup, 'key', true);
    setup.clock.ms = 4.9 * MINUTE;
    void setup.authenticator.authenticate('key');
    setup.pending.pop()?.fail();
    await expect.poll(() => setup.authenticator.counters.slotsInUse).toBe(0);
    setup.clock.ms = 5 * MINUTE;
    expect(setup.authenticator.authenticate('key')).toBeInstanceOf(Promise);
  });

  it('remembers a refusal for a short time', async () => {
    const setup = setUp([alice]);
    expect(await verifyOnce(setup, 'wrong', false)).toBe('invalid');
    expect(setup.authenticator.authenticate('wrong')).toBe('invalid');
    expect(setup.pending).toHaveLength(0);
    setup.clock.ms = 10_000;
    expect(await verifyOnce(setup, 'wrong', false)).toBe('invalid');
  });

  it('shares one verification among those who present the same key together', async () => {
    const { authenticator, pending } = setUp([alice]);
    const outcomes = Array.from({ length: 10 }, async () => authenticator.authenticate('key'));
    expect(pending).toHaveLength(1);
    expect(authenticator.counters.slotsInUse).toBe(1);
    pending[0]?.settle(true);
    expect(await Promise.all(outcomes)).toEqual(Array(10).fill(alice));
  });

  it('verifies four keys at once and answers the fifth with busy', async () => {
    const { authenticator, pending } = setUp([alice]);
    const first = ['one', 'two', 'three', 'four'].map((key) => authenticator.authenticate(key));
    expect(authenticator.authenticate('five')).toBe('busy');
    expect(authenticator.authenticate('four')).toBeInstanceOf(Promise);
    expect(pending).toHaveLength(4);
    pending[0]?.settle(true);
    expect(await first[0]).toBe(alice);
    expect(authenticator.authenticate('five')).toBeInstanceOf(Promise);
    expect(authenticator.authenticate('one')).toBe(alice);
  });

  it('frees the slot and forgets the attempt when the verification fails', async () => {
    const { authenticator, pending } = setUp([alice]);
    const outcome = authenticator.authenticate('key');
    pending.pop()?.fail();
    await expect(outcome).rejects.toThrow('thread lost');
    expect(authenticator.counters.slotsInUse).toBe(0);
    expect(authenticator.authenticate('key')).toBeInstanceOf(Promise);
  });

  it('remembers 1,024 keys and no more', { tags: ['credential:cache-bound'] }, async () => {
    const authenticator = createAuthenticator({ records: [alice], now: () => 0, verify: async () => true });
    for (let index = 0; index < 1024; index++) await authenticator.authenticate(`key ${index}`);
    for (let index = 0; index < 1024; index++) expect(authenticator.authenticate(`key ${index}`)).toBe(alice);
    await authenticator.authenticate('one more');
    expect(authenticator.authenticate('key 1')).toBe(alice);
    expect(authenticator.authenticate('key 0')).toBeInstanceOf(Promise);
  });

  it('never remembers more than 1,024 refusals', async () => {
    const authenticator = createAuthenticator({ records: [alice], now: () => 0, verify: async () => false });
    for (let index = 0; index < 1100; index++) await authenticator.authenticate(`wrong ${index}`);
    expect(authenticator.authenticate('wrong 1099')).toBe('invalid');
    expect(authenticator.authenticate('wrong 0')).toBeInstanceOf(Promise);
  });

  it('never gives a key to another record, and never takes more than four slots', async () => {
    const plaintexts = ['first', 'second', `svc_k1_${secret}`, `svc_k1_${secret}x`, `svc_k2_${secret}`];
    const records: readonly KeyRecord[] = [
      { name: 'first', keyHash: 'first', keyId: undefined, capabilities: '*' },
      { name: 'k1', keyHash: `svc_k1_${secret}`, keyId: 'k1', capabilities: '*' },
    ];
    await fc.assert(
      fc.asyncProperty(fc.array(fc.constantFrom(...plaintexts), { maxLength: 30 }), async (sequence) => {
        let running = 0;
        let most = 0;
        const authenticator: Authenticator = createAuthenticator({
          records,
          now: () => 0,
          verify: async (plaintext, hash) => {
            most = Math.max(most, ++running);
            await Promise.resolve();
            running--;
            return plaintext === hash;
          },
        });
        const outcomes = await Promise.all(sequence.map(async (key) => authenticator.authenticate(key)));
        for (const [index, outcome] of outcomes.entries()) {
          const owner = records.find((candidate) => candidate.keyHash === sequence[index]);
          expect(['busy', owner ?? 'invalid']).toContain(outcome);
        }
        expect(most).toBeLessThanOrEqual(4);
        expect(authenticator.counters.slotsInUse).toBe(0);
      }),
    );
  });
});
