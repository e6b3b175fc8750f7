import fc from 'fast-check';
import { expect, test } from 'vitest';
import { stringFormats } from './string-formats.ts';

function fits(format: string, text: string): boolean | undefined {
  return stringFormats.get(format)?.(text);
}

test.each([
  ['date', '2024-02-29'],
  ['date', '0001-01-01'],
  ['date', '9999-12-31'],
  ['date-time', '2024-02-29T23:59:59Z'],
  ['date-time', '2024-02-29t23:59:60.123456z'],
  ['date-time', '2024-02-29T00:00:00-15:59'],
  ['time', '10:30:00Z'],
  ['time', '10:30:00.5+02:00'],
  ['email', 'a.b+c@example.co.uk'],
  ['uri', 'https://example.com/a?b=c#d'],
  ['uri', 'urn:isbn:0451450523'],
  ['uri', 'mailto:a@example.com'],
  ['uuid', '123E4567-e89b-12d3-a456-426614174000'],
  ['ipv4', '192.0.2.1'],
  ['ipv6', '2001:db8::1'],
  ['ipv6', '::ffff:192.0.2.1'],
  ['hostname', 'example.com'],
  ['hostname', 'a-1'],
])('%s takes %s', (format, text) => {
  expect(fits(format, text)).toBe(true);
});

test.each([
  ['date', '2023-02-29'],
  ['date', '1900-02-29'],
  ['date', '2024-13-01'],
  ['date', '2024-00-10'],
  ['date', '2024-01-00'],
  ['date', '0000-01-01'],
  ['date', '2024-1-1'],
  ['date', '10000-01-01'],
  ['date', '2024-01-01\n'],
  ['date', '2024-01-01T00:00:00Z'],
  ['date-time', '2024-01-01'],
  ['date-time', '2024-01-01T00:00:00'],
  ['date-time', '2024-01-01 00:00:00Z'],
  ['date-time', '2023-02-29T00:00:00Z'],
  ['date-time', '2024-01-01T24:00:00Z'],
  ['date-time', '2024-01-01T00:60:00Z'],
  ['date-time', '2024-01-01T00:00:00+16:00'],
  ['date-time', '2024-01-01T00:00:00.Z'],
  ['time', '10:30'],
  ['time', '10:30:00'],
  ['email', 'a'],
  ['email', 'a@b@c'],
  ['email', '.a@example.com'],
  ['email', `a@${'x'.repeat(260)}`],
  ['uri', '/relative'],
  ['uri', 'https://'],
  ['uri', 'https://a b'],
  ['uri', 'https://example.com/%zz'],
  ['uuid', 'urn:uuid:123e4567-e89b-12d3-a456-426614174000'],
  ['uuid', '123e4567e89b12d3a456426614174000'],
  ['ipv4', '192.0.2.256'],
  ['ipv4', '192.0.2.01'],
  ['ipv6', 'fe80::1%eth0'],
  ['ipv6', '1::2::3'],
  ['hostname', '-a'],
  ['hostname', 'a..b'],
  ['hostname', ''],
])('%s refuses %j', (format, text) => {
  expect(fits(format, text)).toBe(false);
});

test('dates are those of the calendar', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 9999 }), fc.nat(13), fc.nat(32), (year, month, day) => {
      const date = new Date(0);
      date.setUTCFullYear(year, month - 1, day);
      const exists = date.getUTCMonth() === month - 1 && date.getUTCDate() === day;
      const text = [
        String(year).padStart(4, '0'),
        ...[month, day].map((part) => String(part).padStart(2, '0')),
      ];
      expect(fits('date', text.join('-'))).toBe(exists);
    }),
  );
});

test('moments are taken as JavaScript writes them', () => {
  const range = {
    min: new Date('0001-01-01T00:00:00Z'),
    max: new Date('9999-12-31T23:59:59Z'),
    noInvalidDate: true,
  };
  fc.assert(
    fc.property(fc.date(range), (date) => {
      expect(fits('date-time', date.toISOString())).toBe(true);
    }),
  );
});

test('long texts are decided in linear time', () => {
  const texts = ['a', 'a.', 'a-', 'a@', '1:', '%41', '0'].flatMap((part) => {
    const long = part.repeat(300_000);
    return [`${long}!`, `a@${long}!`, `http://${long} `, `http://[${long}]`];
  });
  const started = performance.now();
  for (const [, check] of stringFormats) for (const text of texts) check(text);
  // 250 decisions over 600 KB: quadratic time would take hours.
  expect(performance.now() - started).toBeLessThan(10_000);
});
