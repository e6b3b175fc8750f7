import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { csvLines } from './row-formats.ts';

function csvOf(json: string, names: readonly string[] = []): string {
  return Buffer.concat([...csvLines(Buffer.from(json), names)]).toString();
}

/** RFC 4180 as its grammar has it; an unquoted empty field is null. */
function parseCsv(text: string): (string | null)[][] {
  const lines: (string | null)[][] = [];
  let line: (string | null)[] = [];
  const field = /(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r\n)/gy;
  for (let match = field.exec(text); match !== null; match = field.exec(text)) {
    const [, quoted, plain, end] = match;
    line.push(quoted === undefined ? plain || null : quoted.replaceAll('""', '"'));
    if (end === ',') continue;
    lines.push(line);
    line = [];
  }
  expect(field.lastIndex === 0 && line.length === 0, 'the whole text is CSV').toBe(true);
  return lines;
}

const text = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.string({ unit: fc.constantFrom('"', '\\', '\n', '\r', ',', ' ', 'é', '🐈', '{', ']') }),
);
const value = fc.oneof(
  text,
  fc.constant(null),
  fc.boolean(),
  fc.double({ noNaN: true, noDefaultInfinity: true }),
  fc.jsonValue({ maxDepth: 3 }),
);
const names = fc.uniqueArray(
  text.filter((name) => name !== '' && name !== '__proto__' && !/^\d+$/.test(name)),
  {
    minLength: 1,
    maxLength: 5,
  },
);
/** Any character may be written as an escape. */
const escaped = (json: string): string =>
  json.replaceAll(/[^\0-\x7f]|[,A-Z]/g, (unit) =>
    [...Array(unit.length).keys()]
      .map((at) => unit.charCodeAt(at))
      .map((code) => (unit === ',' ? ',' : `\\u${code.toString(16).padStart(4, '0')}`))
      .join(''),
  );

/** What a field says of a value. */
function fieldOf(cell: unknown): unknown {
  if (typeof cell === 'object' && cell !== null) return { json: cell };
  return cell === null || typeof cell === 'string' ? cell : JSON.stringify(cell);
}

describe('rows as CSV', { tags: ['rest:csv'] }, () => {
  test('hold the same as the JSON, whatever that holds and however it is written', () => {
    const rows = names.chain((fields) =>
      fc.array(
        fc
          .tuple(...fields.map(() => value))
          .map((cells) => Object.fromEntries(cells.map((cell, at) => [fields[at] ?? '', cell]))),
        { minLength: 1, maxLength: 5 },
      ),
    );
    fc.assert(
      fc.property(rows, fc.constantFrom(undefined, 1, '\t'), fc.boolean(), (items, indent, escapes) => {
        const json = JSON.stringify(items, undefined, indent);
        const [head = [], ...lines] = parseCsv(csvOf(escapes ? escaped(json) : json));
        const parsed: readonly Record<string, unknown>[] = JSON.parse(json);
        expect(head).toEqual(Object.keys(parsed[0] ?? {}));
        const read = lines.map((line, row) =>
          Object.values(parsed[row] ?? {}).map((cell, column) =>
            typeof cell === 'object' && cell !== null
              ? { json: JSON.parse(line[column] ?? '') }
              : line[column],
          ),
        );
        const isOne = head.length === 1;
        const expected = parsed.map((row) => Object.values(row).map(fieldOf));
        expect(read).toEqual(isOne ? expected.map(([field]) => [field ?? '']) : expected);
      }),
      { numRuns: 500 },
    );
  });

  test('quote only where they must', () => {
    const rows = [
      {
        id: 9_007_199_254_740_991,
        a: 'plain text',
        b: 'a,b',
        c: 'say "x"',
        d: 'two\r\nlines',
        e: null,
        f: '',
      },
      { id: -1.5e-7, a: ' x ', b: '=1+1', c: [1, 2], d: { k: 'v' }, e: true, f: '😀' },
    ];
    expect(csvOf(JSON.stringify(rows))).toBe(
      'id,a,b,c,d,e,f\r\n' +
        '9007199254740991,plain text,"a,b","say ""x""","two\r\nlines",,""\r\n' +
        '-1.5e-7, x ,=1+1,"[1,2]","{""k"":""v""}",true,😀\r\n',
    );
  });

  test('have no empty line: in a single column null is what an empty text is', () => {
    expect(csvOf('[{"a":null},{"a":""},{"a":"x"},{}]')).toBe('a\r\n""\r\n""\r\nx\r\n""\r\n');
    expect(csvOf('[{"a":null,"b":null},{"a":"","b":null}]')).toBe('a,b\r\n,\r\n"",\r\n');
  });

  test('keep numbers as they are written', () => {
    expect(csvOf('[{"n":12345678901234567890.10}]')).toBe('n\r\n12345678901234567890.10\r\n');
  });

  test('go by names where a row has other members, or in another order', () => {
    expect(csvOf('[{"a":1,"b":2},{"b":3,"a":4},{"b":5},{"c":6,"a":7}]')).toBe(
      'a,b\r\n1,2\r\n4,3\r\n,5\r\n7,\r\n',
    );
  });

  test('take no longer where no row has the keys of the first', { timeout: 5000 }, () => {
    const keyed = (letter: string): string =>
      JSON.stringify(Object.fromEntries(Array.from({ length: 1600 }, (_, at) => [`${letter}${at}`, 1])));
    const rows = Buffer.from(`[${keyed('a')}${`,${keyed('b')}`.repeat(500)}]`);
    const [head, line, ...others] = Buffer.concat([...csvLines(rows, [])])
      .toString()
      .split('\r\n');
    expect([head?.startsWith('a0,a1,'), line, others.length]).toEqual([
      true,
      '1,'.repeat(1600).slice(0, -1),
      501,
    ]);
    expect(others[0]).toBe(','.repeat(1599));
  });

  test('have the names of the description where there is no row', () => {
    expect(csvOf('[]', ['id', 'a,b'])).toBe('id,"a,b"\r\n');
    expect(csvOf('[]')).toBe('');
  });

  test('come in pieces, however long a field is', () => {
    const long = 'x"é\n'.repeat(60_000);
    const rows = [
      { a: long, b: null },
      ...Array.from({ length: 3000 }, (_, at) => ({ a: `row ${at}`, b: 'x'.repeat(at % 50) })),
    ];
    const pieces = [...csvLines(Buffer.from(JSON.stringify(rows)), [])];
    expect(pieces.length).toBeGreaterThan(6);
    for (const { length } of pieces) expect(length).toBeLessThan(70_000);
    const [, ...lines] = parseCsv(Buffer.concat(pieces).toString());
    expect(lines).toEqual(rows.map(({ a, b }) => [a, b]).map(([a, b], at) => [a, at === 0 ? null : b]));
    const wide = Object.fromEntries(Array.from({ length: 200_000 }, (_, at) => [`c${at}`, null]));
    for (const { length } of csvLines(Buffer.from(JSON.stringify([wide])), []))
      expect(length).toBeLessThan(70_000);
  });

  test('end for bytes that are no rows, too', () => {
    const noise = fc.string({
      unit: fc.constantFrom('[', ']', '{', '}', '"', '\\', ',', ':', 'u', 'n', '1', ' '),
    });
    fc.assert(
      fc.property(noise, (bytes) => {
        expect(csvOf(`[{"a":1},{${bytes}`).startsWith('a\r\n1\r\n')).toBe(true);
        csvOf(bytes);
      }),
      { numRuns: 2000 },
    );
  });
});
