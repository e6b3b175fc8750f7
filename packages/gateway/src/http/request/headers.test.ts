import { expect, test } from 'vitest';
import { readRequestHeaders } from './headers.ts';

test('the headers that decide something are read whatever their case', () => {
  const headers = readRequestHeaders(['AUTHORIZATION', 'Bearer k', 'X-api-KEY', 'k', 'Accept', '*/*']);
  expect(headers).toMatchObject({
    authorization: 'Bearer k',
    apiKey: 'k',
    contentType: undefined,
    repeated: [],
  });
});

test('a repeated header keeps its first value and is named, once for each repeat, also with equal values', () => {
  const raw = ['X-API-Key', 'a', 'x-api-key', 'a', 'X-API-KEY', 'b', 'Via', '1', 'Via', '2'];
  expect(readRequestHeaders(raw)).toMatchObject({ apiKey: 'a', repeated: ['x-api-key', 'x-api-key'] });
});

test('an empty value is there', () => {
  expect(readRequestHeaders(['X-API-Key', '', 'x-api-key', 'k'])).toMatchObject({
    apiKey: '',
    repeated: ['x-api-key'],
  });
});
