import { expect, test } from 'vitest';
import { isToken, readCredential } from './credential.ts';
import { readRequestHeaders } from '../http/request/headers.ts';

const read = (...raw: string[]): string | undefined => readCredential(readRequestHeaders(raw), false);
const LONG = 'a'.repeat(73);

test.each([
  [['X-API-Key', 'k1'], 'k1'],
  [['x-api-key', 'with blank'], 'with blank'],
  [['Authorization', 'Bearer k1'], 'k1'],
  [['authorization', 'bEARER   k1  '], 'k1'],
  [['Authorization', 'Basic cHJveHk6', 'X-API-Key', 'k1'], 'k1'],
  [['X-API-Key', 'k1', 'Authorization', 'Negotiate YII='], 'k1'],
  [['X-API-Key', 'k1', 'Authorization', ''], 'k1'],
  [['Authorization', `Bearer ${LONG}`, 'X-API-Key', 'k1'], 'k1'],
])('%j presents %j', (raw, key) => {
  expect(read(...raw)).toBe(key);
});

test.each([
  [[]],
  [['Authorization', '']],
  [['Authorization', 'Bearer']],
  [['Authorization', 'Bearer ']],
  [['Authorization', 'Bearerk1']],
  [['Authorization', 'Bearer k1 k2']],
  [['Authorization', 'Basic k1']],
])('%j presents none', (raw) => {
  expect(read(...raw)).toBeUndefined();
});

test.each([
  [['Authorization', 'Bearer k', 'X-API-Key', 'k']],
  [['X-API-Key', 'k', 'X-API-Key', 'k']],
  [['X-API-Key', '', 'x-api-key', 'k']],
  [['Authorization', 'Bearer k', 'authorization', 'Bearer k']],
  [['Authorization', 'Bearer', 'X-API-Key', 'k']],
  [['Authorization', 'Bearer k k', 'X-API-Key', 'k']],
  [['Authorization', 'Basic k', 'Authorization', 'Basic k', 'X-API-Key', 'k']],
])('%j presents two: 400, also when they are equal', (raw) => {
  expect(() => read(...raw)).toThrow(expect.objectContaining({ code: 'GATEWAY_INVALID_REQUEST' }));
});

test('a long bearer beside a key is a second credential where the service takes tokens', () => {
  const headers = readRequestHeaders(['Authorization', `Bearer ${LONG}`, 'X-API-Key', 'k1']);
  expect(() => readCredential(headers, true)).toThrow(
    expect.objectContaining({ code: 'GATEWAY_INVALID_REQUEST' }),
  );
});

test.each([
  ['Authorization', 73, true],
  ['Authorization', 72, false],
  ['X-API-Key', 73, false],
])('in %s, %i bytes are a token: %s', (name, length, token) => {
  const credential = 'a'.repeat(length);
  const raw = [name, name === 'Authorization' ? `Bearer ${credential}` : credential];
  expect(isToken(credential, readRequestHeaders(raw))).toBe(token);
});
