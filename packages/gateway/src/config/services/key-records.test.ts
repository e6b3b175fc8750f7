import { describe, expect, it } from 'vitest';
import type { Permissions } from '../../core/permission.ts';
import { keyRecord } from '../../core/principal.testing.ts';
import { parseKeyRecords } from './key-records.ts';

const HASH = `$2b$10$${'.'.repeat(53)}`;

function parse(...records: readonly unknown[]) {
  return parseKeyRecords(JSON.stringify(records), 'setting');
}
function problemsOf(...records: readonly unknown[]): readonly string[] {
  const parsed = parse(...records);
  return parsed.ok ? [] : parsed.problems;
}

describe('parseKeyRecords', () => {
  it.each<[unknown, Permissions]>([
    [undefined, new Set()],
    [[], new Set()],
    [['*'], '*'],
    [['find_book', 'a1'], new Set(['find_book', 'a1'])],
  ])('reads the capabilities %j', (capabilities, permission) => {
    expect(parse({ name: 'a', key_hash: HASH, capabilities })).toEqual({
      ok: true,
      value: [keyRecord('a', { keyHash: HASH, capabilities: permission })],
    });
  });

  it('reads whose key it is, what is claimed of them, and until when', () => {
    const claims = { org_id: 'north', level: 3, active: true, teams: ['a', 'b'] };
    const record = {
      name: 'a',
      key_hash: HASH,
      principal: 'ann',
      claims,
      expires_at: '2027-01-31T01:30:00+02:00',
    };
    expect(parse(record)).toMatchObject({
      ok: true,
      value: [{ principal: 'ann', claims, expiresAtMs: Date.UTC(2027, 0, 30, 23, 30) }],
    });
  });

  it.each([
    '2027-01-31',
    '2027-01-31T00:00:00',
    '2027-02-29T00:00:00Z',
    '2027-01-31T24:00:00Z',
    '2027-01-31T00:00:00+24:00',
    '2027-01-31 00:00:00Z',
    '31 Jan 2027 00:00:00 GMT',
    1_800_000_000,
    null,
  ])('refuses to expire at %j', (expiresAt) => {
    expect(problemsOf({ name: 'a', key_hash: HASH, expires_at: expiresAt })).toEqual([
      expect.stringMatching(/^record 1 \("a"\): expires_at is not accepted; accepted: .* RFC 3339/),
    ]);
  });

  it('takes different keys of one principal only with equal capabilities and claims', () => {
    const first = {
      name: 'a',
      key_hash: HASH,
      capabilities: ['x', 'y'],
      claims: { t: 'n', u: 1 },
      principal: 'p',
    };
    const equal = { ...first, name: 'b', capabilities: ['y', 'x'], claims: { u: 1, t: 'n' } };
    expect(parse(first, equal)).toMatchObject({ ok: true });
    // A name is a principal, too.
    expect(problemsOf(first, { ...equal, name: 'p', principal: undefined, capabilities: ['*'] })).toEqual([
      expect.stringMatching(
        /^record 2 \("p"\): capabilities differ from those of record 1, .*"p"; accepted: /,
      ),
    ]);
    expect(problemsOf(first, { ...equal, claims: { t: 'n' }, capabilities: [] })).toEqual([
      expect.stringMatching(/^record 2 \("b"\): capabilities and claims differ/),
    ]);
  });

  it.each(['2a', '2b', '2y'])('accepts $%s$ hashes', (version) => {
    expect(parse({ name: 'a', key_hash: HASH.replace('2b', version), key_id: 'abc123' })).toMatchObject({
      ok: true,
      value: [{ keyHash: HASH.replace('2b', version), keyId: 'abc123' }],
    });
  });

  it.each([
    ['$2x$10$', 53],
    ['$2$10$', 53],
    ['$2b$03$', 53],
    ['$2b$17$', 53],
    ['$2b$4$', 54],
    ['$2b$10$', 52],
    ['$2b$10$', 54],
  ])('refuses a hash that begins with %s and has %i characters after it', (start, length) => {
    expect(problemsOf({ name: 'a', key_hash: start + 'a'.repeat(length) })).toEqual([
      expect.stringMatching(
        /^record 1 \("a"\): key_hash (is not a valid bcrypt hash|has the cost \d\d); accepted: /,
      ),
    ]);
  });

  it('refuses a hash with a character outside of the alphabet', () => {
    expect(problemsOf({ name: 'a', key_hash: HASH.replace(/.$/, '=') })).toHaveLength(1);
  });

  it('explains single quotes when a shell has eaten the hash', () => {
    expect(problemsOf({ name: 'a', key_hash: 'b0/abcdefgh' })).toEqual([
      expect.stringContaining('single quotes'),
    ]);
    expect(parseKeyRecords('[{name:a,key_hash:b0/abc}]', 'setting')).toEqual({
      ok: false,
      problems: [expect.stringContaining('single quotes')],
    });
  });

  it.each([
    ['name', { key_hash: HASH }],
    ['name', { name: '', key_hash: HASH }],
    ['name', { name: '  ', key_hash: HASH }],
    ['name', { name: 'a\nb', key_hash: HASH }],
    ['name', { name: 'x'.repeat(129), key_hash: HASH }],
    ['name', { name: 5, key_hash: HASH }],
    ['key_hash', { name: 'a' }],
    ['key_hash', { name: 'a', key_hash: 1 }],
    ['key_id', { name: 'a', key_hash: HASH, key_id: '' }],
    ['key_id', { name: 'a', key_hash: HASH, key_id: 'with_underscore' }],
    ['key_id', { name: 'a', key_hash: HASH, key_id: 'x'.repeat(33) }],
    ['capabilities', { name: 'a', key_hash: HASH, capabilities: '*' }],
    ['capabilities', { name: 'a', key_hash: HASH, capabilities: null }],
    ['capabilities', { name: 'a', key_hash: HASH, capabilities: ['*', 'find_book'] }],
    ['capabilities', { name: 'a', key_hash: HASH, capabilities: ['Find-Book'] }],
    ['capabilities', { name: 'a', key_hash: HASH, capabilities: ['x'.repeat(49)] }],
    ['capabilities', { name: 'a', key_hash: HASH, capabilities: [1] }],
    ['principal', { name: 'a', key_hash: HASH, principal: '' }],
    ['principal', { name: 'a', key_hash: HASH, principal: 7 }],
    ['claims', { name: 'a', key_hash: HASH, claims: [] }],
    ['claims.org_id', { name: 'a', key_hash: HASH, claims: { org_id: null } }],
    ['object', 'text'],
    ['object', null],
  ])('refuses a bad %s: %j', (word, record) => {
    expect(problemsOf(record)).toEqual([expect.stringMatching(new RegExp(`^record 1.*${word}.*accepted: `))]);
  });

  it('refuses an unknown field and names the nearest', () => {
    expect(problemsOf({ name: 'a', key_hash: HASH, capabilties: [] })).toEqual([
      expect.stringMatching(/unknown field "capabilties"; did you mean capabilities\?/),
    ]);
  });

  it('refuses two records with one name or one key_id', () => {
    const first = { name: 'a', key_hash: HASH, key_id: 'k1' };
    expect(problemsOf(first, { ...first, key_id: 'k2' })).toEqual([
      expect.stringMatching(/^record 2: name "a" is already that of record 1;/),
    ]);
    expect(problemsOf(first, { ...first, name: 'b' })).toEqual([
      expect.stringMatching(/^record 2: key_id "k1" is already that of record 1;/),
    ]);
  });

  it('reports all that is wrong with all records', () => {
    expect(problemsOf({ name: 'a' }, { key_hash: HASH }, { name: 'c', key_hash: HASH })).toHaveLength(2);
  });

  it('takes 100 records and no more', () => {
    const records = Array.from({ length: 101 }, (_, index) => ({ name: `key ${index}`, key_hash: HASH }));
    expect(parse(...records.slice(0, 100))).toMatchObject({ ok: true });
    expect(problemsOf(...records)).toEqual([expect.stringContaining('at most 100')]);
  });

  it('refuses a field given twice, of which one would win unseen', () => {
    const text = `[{"name":"a","name":"b","key_hash":"${HASH}"}]`;
    expect(parseKeyRecords(text, 'setting')).toMatchObject({ ok: false });
  });
});
