import { expect, test } from 'vitest';
import { warningOf, whyOther, whyUnsupported } from './server-support.ts';

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

test.each([
  ['CockroachDB CCL v24.1.0 (x86_64-pc-linux-gnu, built 2024/05/15)', 'CockroachDB'],
  ['PostgreSQL 8.0.2 on i686-pc-linux-gnu, compiled by GCC gcc (GCC) 3.4.2, Redshift 1.0.12103', 'Redshift'],
  ['(openGauss 5.0.0 build a07d57c3) compiled at 2023-03-29 on x86_64-unknown-linux-gnu', 'openGauss'],
])('%s is refused', (told, name) => {
  expect(whyOther(told)).toContain(name);
});

test('PostgreSQL is taken as it is, YugabyteDB with a warning', () => {
  const postgres = 'PostgreSQL 15.18 (Debian 15.18-1) on x86_64-pc-linux-gnu, compiled by gcc 12.2.0, 64-bit';
  expect([whyOther(postgres), warningOf(postgres)]).toEqual([undefined, undefined]);
  const yugabyte = 'PostgreSQL 11.2-YB-2.20.1.0-b0 on x86_64-pc-linux-gnu, compiled by clang 16, 64-bit';
  expect([whyOther(yugabyte), warningOf(yugabyte)]).toEqual([
    undefined,
    expect.stringContaining('YugabyteDB'),
  ]);
});
