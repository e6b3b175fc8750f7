import { compare, hashSync } from 'bcryptjs';
import { describe, expect, it } from 'vitest';
import { createSharePermissions } from '../permission-sets.ts';
import { createAuthenticator, type Authentication } from './authenticator.ts';
import type { KeyRecord } from './key-record.ts';
import { knownForms } from './known-forms.ts';
import { answerKey, createRemoteAuthenticator, type KeyAnswer } from './remote-authenticator.ts';

const SECRET = 'a'.repeat(27);
const KEY = `svc_k1_${SECRET}`;
const record = (name: string, keyId: string, expiresAtMs?: number): KeyRecord => ({
  name,
  keyHash: hashSync(`svc_${keyId}_${SECRET}`, 4),
  keyId,
  capabilities: new Set(['a', 'b']),
  principal: name,
  claims: {},
  expiresAtMs,
});

function start(records: readonly KeyRecord[]) {
  const clock = { now: 0, wall: 1_000_000 };
  const now = (): number => clock.now;
  const wallClock = (): number => clock.wall;
  const retired: string[] = [];
  let compared = 0;
  const authority = createAuthenticator({
    services: [{ id: 'default', keys: records }],
    async verify(plaintext, hash) {
      compared++;
      return compare(plaintext, hash);
    },
    now,
    wallClock,
    sharePermissions: createSharePermissions(),
    onRetired: (ids) => void retired.push(...ids),
  });
  let asked = 0;
  let away = false;
  const remote = createRemoteAuthenticator({
    async ask(question) {
      asked++;
      await Promise.resolve();
      if (away) throw new Error('away');
      return structuredClone(await answerKey(authority, question));
    },
    isAway: (error) => error instanceof Error && error.message === 'away',
    now,
    wallClock,
    sharePermissions: createSharePermissions(),
  });
  const present = (key: string): Authentication | Promise<Authentication> =>
    remote.authenticate(key, '192.0.2.1', 'default');
  return {
    clock,
    authority,
    remote,
    retired,
    present,
    counts: () => ({ asked, compared }),
    leave: () => (away = true),
  };
}

const settle = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 30));

describe('an authenticator that asks the one of its replica', () => {
  it('asks once for a key, whoever presents it meanwhile, and then answers at once', async () => {
    const { present, counts, remote } = start([record('one', 'k1')]);
    const answers = await Promise.all([present(KEY), present(KEY), present(KEY)]);
    expect(answers).toEqual(answers.map(() => expect.objectContaining({ kind: 'api_key', name: 'one' })));
    const known = present(KEY);
    expect(known).not.toBeInstanceOf(Promise);
    expect(known).toBe(present(KEY));
    expect(counts()).toEqual({ asked: 1, compared: 1 });
    expect(remote.counters.cacheHits).toBe(2);
  });

  it('renews a key in use before its time is up, so that no call waits', async () => {
    const { clock, present, counts } = start([record('one', 'k1')]);
    await present(KEY);
    for (let minute = 0; minute < 20; minute++) {
      for (let step = 0; step < 12; step++) {
        clock.now += 5000;
        expect(present(KEY)).not.toBeInstanceOf(Promise);
        await settle();
      }
    }
    // Every four minutes, each time by one comparison and two or three questions.
    expect(counts().compared).toBeGreaterThanOrEqual(5);
    expect(counts().compared).toBeLessThanOrEqual(6);
    expect(counts().asked).toBeLessThanOrEqual(18);
  });

  it('remembers a refusal for a while, and no longer than the records stay', async () => {
    const { authority, remote, present, counts } = start([record('one', 'k1')]);
    const wrong = `svc_k2_${SECRET}`;
    expect(await present(wrong)).toBe('invalid');
    expect(present(wrong)).toBe('invalid');
    expect(counts().asked).toBe(1);
    authority.setRecords([{ id: 'default', keys: [record('one', 'k1'), record('two', 'k2')] }]);
    remote.recordsChanged(
      [],
      knownForms([{ id: 'default', keys: [record('one', 'k1'), record('two', 'k2')] }]),
    );
    expect(await present(wrong)).toMatchObject({ name: 'two' });
  });

  it('asks for no key that no record can fit', async () => {
    const { remote, present, counts } = start([record('one', 'k1')]);
    remote.recordsChanged([], knownForms([{ id: 'default', keys: [record('one', 'k1')] }]));
    for (const key of ['other', `svc_k9_${SECRET}`, 'svc_k9_short']) expect(present(key)).toBe('invalid');
    expect(remote.authenticate(KEY, '192.0.2.1', 'elsewhere')).toBe('invalid');
    expect(counts().asked).toBe(0);
    expect(remote.counters.cacheMisses).toBe(4);
    expect(await present(KEY)).toMatchObject({ name: 'one' });
    const foreign = { ...record('foreign', 'k3'), keyId: undefined };
    remote.recordsChanged([], knownForms([{ id: 'default', keys: [foreign] }]));
    expect(present(`svc_k9_${SECRET}`)).toBe('invalid');
    expect(await present('svc_k9_short')).toBe('invalid');
    expect(counts().asked).toBe(2);
  });

  it('forgets the keys of records that are gone, and no other', async () => {
    const records = [record('one', 'k1'), record('two', 'k2')];
    const { authority, remote, retired, present } = start(records);
    await present(KEY);
    await present(`svc_k2_${SECRET}`);
    authority.setRevoked(['k1']);
    remote.recordsChanged(retired, knownForms([{ id: 'default', keys: records }]));
    expect(await present(KEY)).toBe('invalid');
    expect(present(`svc_k2_${SECRET}`)).toMatchObject({ name: 'two' });
  });

  it('remembers no key whose record went while the answer was on its way', async () => {
    const records = [record('one', 'k1')];
    const { authority, retired } = start(records);
    const answers: ((answer: KeyAnswer) => void)[] = [];
    const remote = createRemoteAuthenticator({
      ask: async () => new Promise((resolve) => void answers.push(resolve)),
      isAway: () => false,
      now: () => 0,
      wallClock: () => 0,
      sharePermissions: createSharePermissions(),
    });
    const question = { credential: KEY, source: '192.0.2.1', service: 'default' };
    const present = async (): Promise<Authentication> => remote.authenticate(KEY, '192.0.2.1', 'default');
    const first = present();
    const answer = await answerKey(authority, question);
    // Both messages come in one read: nothing that awaits the first goes on before the second.
    answers[0]?.(answer);
    authority.setRevoked(['k1']);
    remote.recordsChanged(retired, knownForms([{ id: 'default', keys: records }]));
    expect(await first).toMatchObject({ name: 'one' });
    const second = present();
    answers[1]?.(await answerKey(authority, question));
    expect(await second).toBe('invalid');
  });

  it('ends a key with its record to the millisecond', async () => {
    const { clock, present } = start([record('one', 'k1', 1_000_500)]);
    expect(await present(KEY)).toMatchObject({ name: 'one' });
    clock.wall = 1_000_499;
    expect(present(KEY)).toMatchObject({ name: 'one' });
    clock.wall = 1_000_500;
    expect(await present(KEY)).toBe('invalid');
  });

  it('goes on with the keys that it knows when the other is away, and refuses for now what it does not', async () => {
    const { present, leave } = start([record('one', 'k1'), record('two', 'k2')]);
    await present(KEY);
    leave();
    expect(present(KEY)).toMatchObject({ name: 'one' });
    expect(await present(`svc_k2_${SECRET}`)).toBe('unavailable');
    expect(present('')).toBe('invalid');
  });
});
