import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createAuthenticator, type ServiceKeys } from './authenticator.ts';
import { createSharePermissions } from '../permission-sets.ts';
import { keyRecord } from '../../core/principal.testing.ts';
import type { KeyRecord } from './key-record.ts';

const SECRET = 's'.repeat(48);
const DEFAULT = 'default';

/** A key `svc_<key id>_...` matches the record whose hash is its key id; any other key the record whose hash it is. */
function hashOf(plaintext: string): string {
  return /^svc_([^_]+)_/.exec(plaintext)?.[1] ?? plaintext;
}

const created = (keyId: string, more: Partial<KeyRecord> = {}): KeyRecord => ({
  ...keyRecord(keyId, { keyId }),
  keyHash: keyId,
  ...more,
});
const byHand = (name: string): KeyRecord => ({ ...keyRecord(name), keyHash: name });
const keyOf = (keyId: string): string => `svc_${keyId}_${SECRET}`;
const only = (...keys: readonly KeyRecord[]): readonly ServiceKeys[] => [{ id: DEFAULT, keys }];

function setUp(services: readonly ServiceKeys[]) {
  const compared: string[] = [];
  const retired: string[] = [];
  /** Runs while a key is compared. */
  const meanwhile = { act: (): void => {} };
  const authenticator = createAuthenticator({
    services,
    now: () => 0,
    wallClock: () => 0,
    sharePermissions: createSharePermissions(),
    verify: async (plaintext, hash) => {
      compared.push(hash);
      const act = meanwhile.act;
      meanwhile.act = () => {};
      await Promise.resolve();
      act();
      return hashOf(plaintext) === hash;
    },
    onRetired: (ids) => retired.push(...ids),
  });
  const nameOf = async (key: string, service = DEFAULT): Promise<string> => {
    const outcome = await authenticator.authenticate(key, 'source', service);
    return typeof outcome === 'object' && 'name' in outcome ? outcome.name : JSON.stringify(outcome);
  };
  return { authenticator, compared, retired, meanwhile, nameOf };
}

describe('the records of other services', () => {
  const services = [
    { id: DEFAULT, keys: [created('one'), byHand('hand')] },
    { id: 'other', keys: [created('two'), byHand('same')] },
    { id: 'third', keys: [byHand('same')] },
  ];

  it('make a key with key_id unknown at once, known or not', async () => {
    const { compared, nameOf } = setUp(services);
    expect(await nameOf(keyOf('two'))).toBe('"invalid"');
    expect(await nameOf(keyOf('one'), 'other')).toBe('"invalid"');
    expect(compared).toEqual([]);
    expect(await nameOf(keyOf('two'), 'other')).toBe('two');
    expect(await nameOf(keyOf('two'))).toBe('"invalid"');
    expect(compared).toEqual(['two']);
  });

  it('are what the same key made by hand is found in, for each service by itself', async () => {
    const { authenticator, nameOf } = setUp(services);
    expect(await nameOf('same', 'other')).toBe('same');
    expect(await nameOf('same', 'third')).toBe('same');
    expect(await nameOf('same')).toBe('"invalid"');
    expect(authenticator.authenticate('same', 'source', 'other')).toMatchObject({ id: 'other/key:same' });
    expect(authenticator.authenticate('same', 'source', 'third')).toMatchObject({ id: 'third/key:same' });
    expect(authenticator.authenticate('same', 'source', DEFAULT)).toBe('invalid');
  });

  it('do not exist for a service that there is not', async () => {
    const { compared, nameOf } = setUp(services);
    expect(await nameOf('same', 'nobody')).toBe('"invalid"');
    expect(compared).toEqual([]);
  });
});

describe('records that change', () => {
  it('leave a known key known when they say the same, in whatever order', async () => {
    const { authenticator, compared, retired, nameOf } = setUp(only(created('one'), created('two')));
    await nameOf(keyOf('one'));
    const before = authenticator.remembered(keyOf('one'), DEFAULT);
    authenticator.setRecords([
      { id: 'other', keys: [] },
      { id: DEFAULT, keys: [created('two'), created('one')] },
    ]);
    expect(await nameOf(keyOf('one'))).toBe('one');
    expect(compared).toEqual(['one']);
    expect(authenticator.remembered(keyOf('one'), DEFAULT)).toEqual(before);
    expect(retired).toEqual([]);
  });

  it('end a known key when they are removed, and when they come back it is verified again', async () => {
    const { authenticator, compared, retired, nameOf } = setUp(only(created('one')));
    await nameOf(keyOf('one'));
    const recordId = authenticator.remembered(keyOf('one'), DEFAULT)?.recordId;
    authenticator.setRecords(only());
    expect(retired).toEqual([recordId]);
    expect(authenticator.authenticate(keyOf('one'), 'source', DEFAULT)).toBe('invalid');
    expect(authenticator.remembered(keyOf('one'), DEFAULT)).toBeUndefined();
    authenticator.setRecords(only(created('one')));
    expect(await nameOf(keyOf('one'))).toBe('one');
    expect(compared).toEqual(['one', 'one']);
  });

  it('are obeyed at once by a known key', async () => {
    const { authenticator, nameOf } = setUp(only(created('one')));
    await nameOf(keyOf('one'));
    authenticator.setRecords(only(created('one', { capabilities: new Set(['find']), expiresAtMs: 5 })));
    const outcome = authenticator.authenticate(keyOf('one'), 'source', DEFAULT);
    expect(outcome).toBeInstanceOf(Promise);
    expect(await outcome).toMatchObject({ permissions: new Set(['find']) });
    expect(authenticator.remembered(keyOf('one'), DEFAULT)).toMatchObject({ expiresAtMs: 5 });
  });

  it('make a key known that was refused just before', async () => {
    const { authenticator, nameOf } = setUp(only(byHand('one')));
    expect(await nameOf('two')).toBe('"invalid"');
    authenticator.setRecords(only(byHand('one'), byHand('two')));
    expect(await nameOf('two')).toBe('two');
  });

  it('count for a key that is being compared meanwhile', async () => {
    const { authenticator, meanwhile, nameOf } = setUp(
      only(byHand('one'), created('new', { keyHash: 'old' })),
    );
    meanwhile.act = () => authenticator.setRecords(only(byHand('one'), byHand('two')));
    expect(await nameOf('two')).toBe('two');
    meanwhile.act = () => authenticator.setRecords(only(byHand('two')));
    expect(await nameOf('one')).toBe('"invalid"');
    authenticator.setRecords(only(created('key', { capabilities: new Set(['a']) })));
    meanwhile.act = () => authenticator.setRecords(only(created('key', { capabilities: new Set(['b']) })));
    expect(await authenticator.authenticate(keyOf('key'), 'source', DEFAULT)).toMatchObject({
      permissions: new Set(['b']),
    });
  });
});

describe('revoked keys', () => {
  it('are unknown at once, whether they were known or not, without a comparison', async () => {
    const { authenticator, compared, retired, nameOf } = setUp(only(created('one'), created('two')));
    await nameOf(keyOf('one'));
    authenticator.setRevoked(['one', 'two', 'nobody']);
    expect(await nameOf(keyOf('one'))).toBe('"invalid"');
    expect(await nameOf(keyOf('two'))).toBe('"invalid"');
    expect(compared).toEqual(['one']);
    expect(retired).toHaveLength(2);
  });

  it('stay so while their record does, and when it comes or changes later', async () => {
    const { authenticator, nameOf } = setUp(only(created('one')));
    authenticator.setRevoked(['one', 'two']);
    authenticator.setRecords(only(created('one'), created('two')));
    expect(await nameOf(keyOf('one'))).toBe('"invalid"');
    expect(await nameOf(keyOf('two'))).toBe('"invalid"');
    authenticator.setRecords(only(created('one', { name: 'renamed' })));
    expect(await nameOf(keyOf('one'))).toBe('"invalid"');
  });

  it('are so in whichever service their record is', async () => {
    const { authenticator, nameOf } = setUp([{ id: 'other', keys: [created('one')] }]);
    expect(await nameOf(keyOf('one'), 'other')).toBe('one');
    authenticator.setRevoked(['one']);
    expect(await nameOf(keyOf('one'), 'other')).toBe('"invalid"');
  });
});

it('answers each key by the records of the moment, whatever came before', async () => {
  const ids = ['a', 'b', 'c'];
  const records = fc.uniqueArray(fc.constantFrom(...ids), { maxLength: 3 });
  const step = fc.oneof(
    fc.record({
      kind: fc.constant('records' as const),
      here: records,
      there: records,
      by: fc.constantFrom('x', 'y'),
    }),
    fc.record({ kind: fc.constant('revoke' as const), id: fc.constantFrom(...ids) }),
    fc.record({
      kind: fc.constant('call' as const),
      key: fc.constantFrom(...ids),
      service: fc.constantFrom(DEFAULT, 'other', 'nobody'),
    }),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 60 }), async (steps) => {
      const { authenticator, nameOf } = setUp([]);
      let model: Readonly<Record<string, readonly string[]>> = {};
      let by = 'x';
      const revoked = new Set<string>();
      for (const at of steps) {
        if (at.kind === 'records') {
          const there = at.there.filter((id) => !at.here.includes(id));
          model = { [DEFAULT]: at.here, other: there };
          ({ by } = at);
          const named = (id: string): KeyRecord => created(id, { name: `${id}${by}` });
          authenticator.setRecords([
            { id: DEFAULT, keys: at.here.map(named) },
            { id: 'other', keys: there.map(named) },
          ]);
        } else if (at.kind === 'revoke') {
          authenticator.setRevoked(revoked.add(at.id));
        } else {
          const isKnown = model[at.service]?.includes(at.key) === true && !revoked.has(at.key);
          expect(await nameOf(keyOf(at.key), at.service)).toBe(isKnown ? `${at.key}${by}` : '"invalid"');
        }
      }
    }),
  );
});
