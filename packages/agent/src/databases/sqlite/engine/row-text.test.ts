import { describe, expect, test } from 'vitest';
import type { ResultType } from '../../../capabilities/model.ts';
import { outputOf, rowText } from './row-text.ts';

const MOST_BYTES = 1000;

function given(type: ResultType, value: string): unknown {
  const fields = outputOf([{ name: 'field', type, nullable: true }], [{ name: 'field' }]);
  const row: { field: unknown } = JSON.parse(rowText([value], fields, MOST_BYTES, 1) ?? '');
  return row.field;
}

test('a value that does not fit is told by its field, its row and its class', () => {
  const fields = outputOf([{ name: 'qty', type: 'integer', nullable: false }], [{ name: 'qty' }]);
  expect(() => rowText([''], fields, MOST_BYTES, 7)).toThrow(
    'field qty has in row 7 a value of the class TEXT, which is no integer',
  );
  expect(() => rowText([null], fields, MOST_BYTES, 8)).toThrow('field qty is null in row 8');
});

describe('datetime', () => {
  test.each([
    ['2024-02-29 10:00', '2024-02-29T10:00:00+00:00'],
    ['2000-02-29T00:00:00.10Z', '2000-02-29T00:00:00.1+00:00'],
    ['2024-01-31t23:59:59.000z', '2024-01-31T23:59:59+00:00'],
    ['0099-02-28 01:02:03.123456789', '0099-02-28T01:02:03.123456789+00:00'],
    ['2024-12-31 23:30:00.5-01:30', '2025-01-01T01:00:00.5+00:00'],
    ['2024-01-01 24:00', '2024-01-02T00:00:00+00:00'],
  ])('%s is %s', (text, expected) => {
    expect(given('datetime', text)).toBe(expected);
  });

  test.each([
    '2023-02-29 10:00:00',
    '1900-02-29 10:00:00',
    '2024-04-31 10:00:00',
    '2024-00-10 10:00:00',
    '2024-13-10 10:00:00',
    '2024-01-00 10:00:00',
    '2024-01-01 24:30:00',
    '2024-01-01 25:00:00',
    '2024-01-01 10:60:00',
    '2024-01-01 10:00:60',
    '2024-01-01 10:00:00+24:00',
    '9999-12-31 23:30:00-01:00',
    '0000-01-01 00:30:00+01:00',
    '2024-01-01',
    'now',
  ])('%s is none', (text) => {
    expect(() => given('datetime', text)).toThrow('which is no datetime');
  });
});

describe('date', () => {
  test.each(['2024-02-29', '2000-02-29', '0000-12-31', '2024-01-31'])('%s is one', (text) => {
    expect(given('date', text)).toBe(text);
  });

  test.each(['2023-02-29', '2100-02-29', '2024-06-31', '2024-1-1', '2024-01-32', '2024-01-01 00:00'])(
    '%s is none',
    (text) => {
      expect(() => given('date', text)).toThrow('which is no date');
    },
  );
});
