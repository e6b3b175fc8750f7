import { expect, test } from 'vitest';
import { utcText } from './utc-text.ts';

const param = { name: 'since' };

test.each([
  ['2024-02-29T12:00:00Z', '2024-02-29 12:00:00'],
  ['2024-02-29t12:00:00.250z', '2024-02-29 12:00:00.250'],
  ['2024-03-01T00:30:00.123456789+02:00', '2024-02-29 22:30:00.123456'],
  ['2024-12-31T23:30:00-01:30', '2025-01-01 01:00:00'],
  ['2016-12-31T23:59:60Z', '2017-01-01 00:00:00'],
  ['2017-01-01T00:59:60.5+01:00', '2017-01-01 00:00:00.5'],
  ['0001-01-01T00:00:00Z', '0001-01-01 00:00:00'],
  ['9999-12-31T23:59:59.999Z', '9999-12-31 23:59:59.999'],
])('%s is %s', (value, expected) => {
  expect(utcText(param, value, 6)).toBe(expected);
});

test.each(['9999-12-31T23:59:59-15:00', '9999-12-31T23:59:60Z', '0001-01-01T00:00:00+00:01'])(
  '%s is told by the name of its parameter, or as a matter of who calls',
  (value) => {
    const message = 'in UTC it is outside of the years 1 to 9999';
    expect(() => utcText(param, value, 6)).toThrow(
      expect.objectContaining({ kind: 'invalid_params', message, advice: `since: ${message}` }),
    );
    expect(() => utcText({ ...param, from: 'principal.claims.since' }, value, 6)).toThrow(
      expect.objectContaining({ kind: 'invalid_principal' }),
    );
  },
);
