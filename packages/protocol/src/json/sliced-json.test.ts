import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseStrictJsonInSlices, printJsonInSlices } from './sliced-json.ts';
import { JsonError, parseStrictJson } from './strict-json.ts';

function run<T>(work: Generator<void, T>): { readonly value: T; readonly slices: number } {
  for (let slices = 1; ; slices++) {
    const step = work.next();
    if (step.done === true) return { value: step.value, slices };
  }
}

function outcome(read: () => unknown): unknown {
  try {
    return { value: read() };
  } catch (error) {
    if (!(error instanceof JsonError)) throw error;
    return 'refused';
  }
}

/** What both parsers read of it, or that they refuse it. */
function outcomes(text: string | Uint8Array): { readonly sliced: unknown; readonly strict: unknown } {
  const bytes = Buffer.from(text);
  return {
    sliced: outcome(() => run(parseStrictJsonInSlices(bytes)).value),
    strict: outcome(() => parseStrictJson(bytes)),
  };
}

/** Longer than a piece. */
const LONG = 'x'.repeat(40_000);
const MANY = Array.from({ length: 20_000 }, (_, at) => at);

describe('reads and refuses what the strict parser does', () => {
  test('of any value that is long', () => {
    const long = fc.constantFrom<unknown>(
      LONG,
      MANY,
      Object.fromEntries(MANY.map((at) => [`k${at}`, { at }])),
    );
    const value = fc.letrec((tie) => ({
      node: fc.oneof(
        { maxDepth: 5 },
        long,
        fc.jsonValue({ maxDepth: 2 }),
        fc.array(tie('node'), { maxLength: 3 }),
        fc.dictionary(fc.string(), tie('node'), { maxKeys: 3, noNullPrototype: true }),
      ),
    })).node;
    fc.assert(
      fc.property(value, fc.constantFrom(undefined, 1, '\t'), (any, space) => {
        const text = JSON.stringify(any, null, space);
        const { sliced, strict } = outcomes(text);
        expect(sliced).toEqual(strict);
        fc.pre(!text.includes('__proto__'));
        const read = run(parseStrictJsonInSlices(Buffer.from(text))).value;
        let printed = '';
        run(printJsonInSlices([read], 2, (piece) => (printed += piece)));
        expect(printed).toBe(JSON.stringify([read]));
      }),
      { numRuns: 40 },
    );
  });

  test('of one with a byte changed, left out or put in', () => {
    const text = JSON.stringify({
      a: LONG,
      b: [LONG, { c: LONG, d: MANY }, []],
      e: { f: MANY, g: 'é"\\' },
      h: 1,
    });
    const edges = [...text.matchAll(/[{}[\],:"]/g)].map(({ index }) => index);
    const places = [...edges.slice(0, 60), ...edges.slice(-60)];
    fc.assert(
      fc.property(
        fc.constantFrom(...places),
        fc.constantFrom('', ' ', ',', ':', '"', '{', '}', '[', ']', '1', '\\', '\0', 'null', '\uFEFF'),
        fc.constantFrom(0, 1),
        (at, put, removed) => {
          const { sliced, strict } = outcomes(text.slice(0, at) + put + text.slice(at + removed));
          expect(sliced).toEqual(strict);
        },
      ),
      { numRuns: 200 },
    );
  });

  test.each([
    ['a key twice, in two pieces', `{"a":1,"b":${JSON.stringify(MANY)},"a":2}`],
    ['a long key twice', `{"a":"${LONG}","\\u0061":1}`],
    ['a key __proto__ of a long value', `{"__proto__":"${LONG}"}`],
    ['a comma at the end', `[${JSON.stringify(MANY)},]`],
    ['a comma at the beginning', `[,${JSON.stringify(MANY)}]`],
    ['no comma', `[${JSON.stringify(MANY)} ${JSON.stringify(MANY)}]`],
    ['blanks alone', `[${' '.repeat(70_000)}]`],
    ['blanks after a comma', `[1,${' '.repeat(70_000)}]`],
    ['no end', `[${JSON.stringify(MANY)}`],
    ['no end of a text', `["${LONG}`],
    ['the wrong end', `[${JSON.stringify(MANY)}}`],
    ['something after it', `${JSON.stringify(MANY)} 1`],
    ['a number that is too large', `[${JSON.stringify(MANY)},1e999]`],
    ['32 levels', `${'['.repeat(31)}${JSON.stringify(MANY)}${']'.repeat(31)}`],
    ['33 levels', `${'['.repeat(32)}${JSON.stringify(MANY)}${']'.repeat(32)}`],
    ['levels without an end', '['.repeat(100_000)],
    [
      'bytes that are no UTF-8',
      Buffer.concat([Buffer.from(`["${LONG}`), Buffer.from([0xff]), Buffer.from('"]')]),
    ],
    ['nothing', ' '.repeat(40_000)],
  ])('%s', (_what, text) => {
    const { sliced, strict } = outcomes(text);
    expect(sliced).toEqual(strict);
  });
});

test('an object of more than 100,000 members is refused', () => {
  const text = JSON.stringify(Object.fromEntries(Array.from({ length: 100_001 }, (_, at) => [`k${at}`, 1])));
  expect(() => run(parseStrictJsonInSlices(Buffer.from(text)))).toThrow(JsonError);
});

test('works in slices of some milliseconds', () => {
  const bytes = Buffer.from(JSON.stringify(Object.fromEntries(MANY.map((at) => [`key${at}`, { at: [at] }]))));
  const { value, slices } = run(parseStrictJsonInSlices(bytes));
  expect(slices).toBeGreaterThan(10);
  expect(run(printJsonInSlices(Object(value), 0, () => {})).slices).toBeGreaterThan(10);
});
