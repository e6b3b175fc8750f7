import { describe, expect, test } from 'vitest';
import type { Answer } from '../trial/open-trial.ts';
import { differences, judge, showKind, showValue } from './run-examples.ts';

function rows(...of: readonly unknown[]): Answer {
  return { kind: 'rows', rows: Buffer.from(JSON.stringify(of)), count: of.length, truncated: false };
}

const timedOut: Answer = { kind: 'error', code: 'AGENT_QUERY_TIMEOUT', message: 'too slow' };

describe('a part of a row', { tags: ['command:test'] }, () => {
  test.each([
    [{}, { a: 1 }],
    [{ a: 1 }, { a: 1.0, b: 2 }],
    [{ a: null }, { a: null }],
    [{ a: { b: { c: 'x' } } }, { a: { b: { c: 'x', d: 1 }, e: 2 } }],
    [{ a: [{ b: 1 }, 2] }, { a: [{ b: 1, c: 1 }, 2] }],
  ])('%j is one of %j', (expected, found) => {
    expect(differences(expected, found, 'rows[0]', showValue)).toEqual([]);
  });

  test.each([
    [{ a: 1 }, { a: '1' }, 'rows[0].a: expected 1, got "1"'],
    [{ a: null }, {}, 'rows[0].a: expected null, got nothing'],
    [{ a: [1] }, { a: [1, 2] }, 'rows[0].a: expected [1], got [1,2]'],
    [{ a: [1, { b: 2 }] }, { a: [1, { b: 3 }] }, 'rows[0].a[1].b: expected 2, got 3'],
    [{ a: {} }, { a: [] }, 'rows[0].a: expected {}, got []'],
    [{ constructor: 1 }, {}, 'rows[0].constructor: expected 1, got nothing'],
    [{ a: 'x' }, { a: 'y'.repeat(90) }, `rows[0].a: expected "x", got "${'y'.repeat(79)}...`],
  ])('%j is none of %j', (expected, found, difference) => {
    expect(differences(expected, found, 'rows[0]', showValue)).toEqual([difference]);
  });

  test.each([
    ['secret', 'another text'],
    [12, 'another number'],
    [['secret'], 'another list, of 1'],
    [{ a: 'secret' }, 'an object'],
    [false, 'false'],
  ])('%j is not quoted where reports are kept', (found, shown) => {
    expect(differences('x', found, 'rows[0].a', showKind)).toEqual([`rows[0].a: expected "x", got ${shown}`]);
  });
});

describe('integers beyond 2^53', { tags: ['command:test'] }, () => {
  const answer: Answer = {
    kind: 'rows',
    rows: Buffer.from(
      '[{"id":9007199254740993,"in":[{"x":-9007199254740995}],"big":1e30,"text":"9007199254740993"}]',
    ),
    count: 1,
    truncated: false,
  };

  test.each([
    { id: 9007199254740993n },
    { in: [{ x: -9007199254740995n }] },
    { big: 1e30, text: '9007199254740993' },
    { id: 9007199254740992.0 },
  ])('are what was expected: %o', (row) => {
    expect(judge({ rows: [row] }, answer, 1, showValue)).toEqual([]);
  });

  test.each([
    [{ id: 9007199254740994n }, 'rows[0].id: expected 9007199254740994, got 9007199254740993'],
    [
      { in: [{ x: -9007199254740996n }] },
      'rows[0].in[0].x: expected -9007199254740996, got -9007199254740995',
    ],
    [{ text: 9007199254740993n }, 'rows[0].text: expected 9007199254740993, got "9007199254740993"'],
  ])('are others than expected: %o', (row, problem) => {
    expect(judge({ rows: [row] }, answer, 1, showValue)).toEqual([problem]);
  });
});

describe('an answer', { tags: ['command:test'] }, () => {
  test.each([
    [{}, rows(), 5],
    [{ count: 2, max_count: 2, truncated: false, max_ms: 5 }, rows({ a: 1 }, { a: 2 }), 5],
    [{ rows: [{ a: 1 }] }, rows({ a: 1 }, { a: 2 }), 5],
    [{ error: 'AGENT_QUERY_TIMEOUT' as const, max_ms: 5 }, timedOut, 4],
  ])('is what %j expects', (expected, answer, ms) => {
    expect(judge(expected, answer, ms, showValue)).toEqual([]);
  });

  test.each([
    [{}, timedOut, 'expected rows, got AGENT_QUERY_TIMEOUT: too slow'],
    [
      { error: 'AGENT_INVALID_PARAMS' as const },
      timedOut,
      'expected AGENT_INVALID_PARAMS, got AGENT_QUERY_TIMEOUT: too slow',
    ],
    [{ error: 'AGENT_INVALID_PARAMS' as const }, rows({}), 'expected AGENT_INVALID_PARAMS, got 1 row'],
    [{ count: 1 }, rows(), 'expected 1 row, got 0 rows'],
    [{ max_count: 1 }, rows({}, {}), 'expected at most 1 row, got 2 rows'],
    [{ truncated: true }, rows(), 'expected a cap to leave rows out, got all of them'],
    [{ truncated: false }, { ...rows(), truncated: true }, 'expected all rows, but a cap left some out'],
    [{ max_ms: 5 }, rows(), 'took 6 ms, more than 5 ms'],
    // The order counts.
    [{ rows: [{ a: 2 }] }, rows({ a: 1 }, { a: 2 }), 'rows[0].a: expected 2, got 1'],
    [{ rows: [{ a: 1 }, {}] }, rows({ a: 1 }), 'rows[1]: expected a row, got 1 row'],
  ])('is not what %j expects', (expected, answer, problem) => {
    expect(judge(expected, answer, 5.5, showValue)).toEqual([problem]);
  });

  test('the first of many differences are told', () => {
    const expected = { rows: Array.from({ length: 1000 }, () => ({ a: 1 })), max_ms: 5 };
    expect(judge(expected, rows(), 5.5, showValue).slice(18)).toEqual([
      'rows[18]: expected a row, got 0 rows',
      'rows[19]: expected a row, got 0 rows',
      'and 980 more differences',
      'took 6 ms, more than 5 ms',
    ]);
  });
});
