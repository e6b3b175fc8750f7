import { expect, test } from 'vitest';
import { permits } from './permission.ts';

test('a key may call what it lists, all with a star, nothing with an empty list', () => {
  expect(permits(new Set(['get']), 'get')).toBe(true);
  expect(permits(new Set(['get']), 'get2')).toBe(false);
  expect(permits(new Set(['get']), 'GET')).toBe(false);
  expect(permits('*', 'anything')).toBe(true);
  expect(permits(new Set(), 'get')).toBe(false);
});
