import { expect, test } from 'vitest';
import { whyUnsupported } from './server-support.ts';

test.each([130_000, 130_023, 150_018, 180_004, 190_000])('server version %i is supported', (version) => {
  expect(whyUnsupported({ version, standardConformingStrings: 'on' })).toBeUndefined();
});

test.each([
  [120_022, 'it is PostgreSQL 12: PostgreSQL 13 or later is needed'],
  [90_624, 'it is PostgreSQL 9: PostgreSQL 13 or later is needed'],
  [Number.NaN, 'it is of an unknown version: PostgreSQL 13 or later is needed'],
])('server version %i is refused', (version, reason) => {
  expect(whyUnsupported({ version, standardConformingStrings: 'on' })).toBe(reason);
});

test('a server that reads quotes in the old way is refused with what to set', () => {
  expect(whyUnsupported({ version: 180_000, standardConformingStrings: 'off' })).toMatch(
    /^standard_conforming_strings is off.*: set it to on for this account$/,
  );
});
