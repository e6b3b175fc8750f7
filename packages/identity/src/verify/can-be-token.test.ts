import { expect, it } from 'vitest';
import { canBeToken } from './can-be-token.ts';

it.each([
  [72, false],
  [73, true],
  [8193, true],
])('%i characters may be a token: %s', (length, isToken) => {
  expect(canBeToken('a'.repeat(length))).toBe(isToken);
});
