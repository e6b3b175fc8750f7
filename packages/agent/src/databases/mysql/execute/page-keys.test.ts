import { expect, test } from 'vitest';
import { unsortedKey } from './page-keys.ts';

const DAY = { field: 'day', type: 'date date' };
const BODY = { field: 'body', type: 'text utf8mb4 utf8mb4_general_ci' };
const LONG = 'x'.repeat(300);

test('texts that begin alike for longer than the server sorts are told, unless an earlier key decides', () => {
  expect(unsortedKey([DAY, BODY], ['2024-01-01', `${LONG}a`], ['2024-01-01', `${LONG}b`], 1024)).toBe('body');
  expect(
    unsortedKey([DAY, BODY], ['2024-01-01', `${LONG}a`], ['2024-01-02', `${LONG}b`], 1024),
  ).toBeUndefined();
  expect(unsortedKey([BODY], [`${LONG}a`], [`${LONG}b`], 4096)).toBeUndefined();
  expect(unsortedKey([BODY], [`a${LONG}`], [`b${LONG}`], 1024)).toBeUndefined();
  const exact = { field: 'body', type: 'text utf8mb4 utf8mb4_0900_as_cs' };
  expect(unsortedKey([exact], [LONG.slice(100)], [LONG.slice(100)], 1024)).toBe('body');
  expect(unsortedKey([BODY], [LONG.slice(100)], [LONG.slice(100)], 64)).toBe('body');
});
