import { CLOSE, ProtocolError } from '@svc/protocol';
import { describe, expect, test } from 'vitest';
import { createDescriptionReader, parseDescription } from './description.ts';

const openapi = { openapi: '3.1.0', info: { title: 'Users', version: '1' }, paths: {}, tags: [] };
const entry = { name: 'get_user', exposed: true, timeout_ms: 1 };
const read = (value: unknown): unknown => parseDescription(Buffer.from(JSON.stringify(value)));

test('a description is read whole, with what the gateway does not know', () => {
  const value = { openapi, manifest: [entry, { ...entry, name: 'a'.repeat(48), exposed: false }] };
  expect(read(value)).toEqual(value);
});

test('what a capability needs and how old a token may be is read', () => {
  const needs = ['principal.claims.org_id', 'principal.subject'];
  const value = { openapi, manifest: [{ ...entry, needs }], identity: { max_age: 3600, later: 1 } };
  expect(read(value)).toEqual(value);
});

test('links of agents with one file share one description', () => {
  const readShared = createDescriptionReader();
  const bytes = (): Buffer => Buffer.from(JSON.stringify({ openapi, manifest: [entry] }));
  const first = readShared(bytes(), 'one');
  expect(readShared(bytes(), 'one')).toBe(first);
  expect(readShared(bytes(), 'other')).not.toBe(first);
});

test.each<[string, unknown]>([
  ['no object', []],
  ['needs that are no list', { openapi, manifest: [{ ...entry, needs: 'principal.subject' }] }],
  ['an empty list of needs', { openapi, manifest: [{ ...entry, needs: [] }] }],
  ['a need twice', { openapi, manifest: [{ ...entry, needs: ['principal.issuer', 'principal.issuer'] }] }],
  ['an unknown need', { openapi, manifest: [{ ...entry, needs: ['principal.name'] }] }],
  ['a need without a claim', { openapi, manifest: [{ ...entry, needs: ['principal.claims.'] }] }],
  ['an identity that is no object', { openapi, manifest: [], identity: 'token' }],
  ['a greatest age of nothing', { openapi, manifest: [], identity: { max_age: 0 } }],
  ['a greatest age with a fraction', { openapi, manifest: [], identity: { max_age: 0.5 } }],
  ['no manifest', { openapi }],
  ['no document', { manifest: [] }],
  ['a document without paths', { openapi: { ...openapi, paths: undefined }, manifest: [] }],
  ['paths that are no object', { openapi: { ...openapi, paths: 'x' }, manifest: [] }],
  ['the reserved name of the meta capability', { openapi, manifest: [{ ...entry, name: '$describe' }] }],
  ['a name that cannot stand in a path', { openapi, manifest: [{ ...entry, name: 'a/b' }] }],
  ['a name that is too long', { openapi, manifest: [{ ...entry, name: 'a'.repeat(49) }] }],
  ['no time limit', { openapi, manifest: [{ name: 'a', exposed: true }] }],
  ['a time limit of nothing', { openapi, manifest: [{ ...entry, timeout_ms: 0 }] }],
  ['a time limit with a fraction', { openapi, manifest: [{ ...entry, timeout_ms: 1.5 }] }],
  ['a time limit beyond what a timer can hold', { openapi, manifest: [{ ...entry, timeout_ms: 2 ** 31 }] }],
])('%s is refused with 4422', (_title, value) => {
  expect(() => read(value)).toThrow(expect.objectContaining({ code: CLOSE.bad_description }));
});

test.each<[string, Buffer]>([
  ['no JSON', Buffer.from('{')],
  ['no UTF-8', Buffer.from([0x22, 0xff, 0x22])],
  ['a key twice', Buffer.from('{"manifest":[],"manifest":[]}')],
])('bytes that are %s are refused with 4422', (_title, bytes) => {
  expect(() => parseDescription(bytes)).toThrow(ProtocolError);
  expect(() => parseDescription(bytes)).toThrow(expect.objectContaining({ code: CLOSE.bad_description }));
});

describe('a long description', () => {
  const MIB = 1024 * 1024;
  const named = (count: number): object[] =>
    Array.from({ length: count }, (_, at) => ({ ...entry, name: `get_${at}` }));

  test.each<[string, object]>([
    ['of many capabilities', { openapi, manifest: named(90_000) }],
    ['of one long text', { openapi: { ...openapi, padding: 'x'.repeat(7 * MIB) }, manifest: [entry] }],
    [
      'of many small values',
      { openapi: { ...openapi, padding: Array.from({ length: 1_000_000 }, () => ({})) }, manifest: [entry] },
    ],
  ])('%s is read while others are served', async (_what, value) => {
    const bytes = Buffer.from(JSON.stringify(value));
    let longest = 0;
    let last = performance.now();
    const timer = setInterval(() => {
      longest = Math.max(longest, performance.now() - last);
      last = performance.now();
    }, 1);
    try {
      expect(await parseDescription(bytes)).toEqual(value);
    } finally {
      clearInterval(timer);
    }
    // Five times the promise.
    expect(longest).toBeLessThan(500);
  });

  test.each<[string, object]>([
    ['a wrong entry', { openapi, manifest: [...named(30_000), { name: 'x' }] }],
    ['more than 100,000 capabilities', { openapi, manifest: named(100_001) }],
    ['no paths', { openapi: { openapi: '3.1.0' }, manifest: named(30_000) }],
  ])('with %s is refused with 4422', async (_what, value) => {
    const refused = expect.objectContaining({ code: CLOSE.bad_description });
    await expect(parseDescription(Buffer.from(JSON.stringify(value)))).rejects.toEqual(refused);
  });
});
