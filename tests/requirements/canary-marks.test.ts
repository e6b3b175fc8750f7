import { expect, test } from 'vitest';
import { createDetector, freshMark, type Mark } from './canary-marks.testing.ts';

const mark = freshMark('value');
const find = createDetector([mark, freshMark('row')]);
const { text } = mark;
const bytes = Buffer.from(`name=${text}&x`);

test.each([
  ['plain', `"${text}"`],
  ['in capitals', text.toUpperCase()],
  ['escaped for JSON', JSON.stringify({ a: `"${text}"` })],
  [
    'as escapes of JSON',
    Array.from(text, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`).join(''),
  ],
  ['in base64', bytes.toString('base64')],
  ['in base64 one byte on', Buffer.from(`n${bytes.toString()}`).toString('base64')],
  ['in base64 two bytes on', Buffer.from(`nn${bytes.toString()}`).toString('base64')],
  ['in base64url', bytes.toString('base64url')],
  ['in base64 of capitals', Buffer.from(text.toUpperCase()).toString('base64')],
  ['in hex', bytes.toString('hex')],
  ['in hex of capitals', Buffer.from(text.toUpperCase()).toString('hex').toUpperCase()],
  ['percent-encoded', [...Buffer.from(text)].map((byte) => `%${byte.toString(16).toUpperCase()}`).join('')],
  ['as entities', [...Buffer.from(text)].map((byte) => `&#x${byte.toString(16)};`).join('')],
])('a mark is found %s', (_form, planted) => {
  expect(find(`before ${planted} after`)).toEqual([mark]);
});

test('a key of letters in both cases is found in base64', () => {
  const key: Mark = { kind: 'private_key', text: 'Q2FuYXJ5-_aZ09sEcReT' };
  const found = createDetector([key]);
  expect(found(Buffer.from(`x${key.text}`).toString('base64url'))).toEqual([key]);
  expect(found(key.text)).toEqual([key]);
});

test('nothing is found where nothing is', () => {
  expect(find(JSON.stringify({ text: text.slice(0, -2), other: text.slice(1, -1) }))).toEqual([]);
});
