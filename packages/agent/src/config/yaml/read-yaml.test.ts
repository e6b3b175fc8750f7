import { expect, test } from 'vitest';
import { createFaultLog } from '../fault-log.ts';
import { readYaml } from './read-yaml.ts';

function read(text: string): { readonly root: unknown; readonly faults: readonly string[] } {
  const faults = createFaultLog();
  const document = readYaml(text, {}, faults);
  const lines = faults
    .list()
    .map(({ path, message, position }) => `${position?.line}:${position?.column} ${path} ${message}`);
  return { root: document?.root, faults: lines };
}

test('reads YAML 1.2: no surprises with no, dates and sexagesimals', () => {
  const { root, faults } = read('{ a: no, b: 2024-01-31, c: 1:30, d: 0o17, e: ~, f: [1, true, "x"] }');
  expect(faults).toEqual([]);
  expect(root).toEqual({ a: 'no', b: '2024-01-31', c: '1:30', d: 15, e: null, f: [1, true, 'x'] });
});

test('keys are text and keep their order', () => {
  const { root } = read('{ true: 1, null: 2, zero: 3 }');
  expect(Object.keys(Object(root))).toEqual(['true', 'null', 'zero']);
});

test('anchors and aliases share a value', () => {
  expect(read('a: &x { b: 1 }\nc: *x').root).toEqual({ a: { b: 1 }, c: { b: 1 } });
});

test.each([
  ['a:\n\tb: 1', '2:1', 'use spaces'],
  ['a: 1\n b: 2', '1:4', 'quote'],
  ['a: "x', '1:4', 'quote is not closed'],
  ["a: 'x\nb: 1\n", '1:4', 'quote is not closed'],
  ['a: [1, 2', '1:9', 'indentation'],
  ['---\na: 1\n---\nb: 2', '3:1', 'one document'],
  ['a: 1\nb: 2\na: 3', '3:1', 'stands twice'],
  ['a: 1\n"a": 3', '2:1', 'stands twice'],
  ['a: @x', '1:4', 'quoted'],
  ['a: !mine x', '1:4', 'tag'],
  ['a: *x', '1:4', 'anchor'],
  ['? [a]\n: 1', '1:3', 'plain text'],
  ['"": 1', '1:1', 'empty'],
  ['__proto__: 1', '1:1', 'cannot be used'],
  ['a: .inf', '1:4', 'finite'],
  ['a: .nan', '1:4', 'finite'],
  ['a: "\\0"', '1:4', 'U+0000'],
])('%j is a fault at %s: %s', (text, place, reason) => {
  const { faults } = read(text);
  expect(faults[0]?.startsWith(`${place} `)).toBe(true);
  expect(faults[0]).toContain(reason);
});

test('what calls of an example send and expect keeps the digits that a double does not', () => {
  const { root, faults } = read(`
capabilities:
  c:
    examples:
      - params: { a: 9007199254740993, b: [-9223372036854775808, +9007199254740993, 7], c: 1e19, d: 0x20000000000001 }
        expect: { count: 1, rows: [{ id: 18446744073709551615, sum: 12345678901234567.89 }] }`);
  expect(faults).toEqual([]);
  expect(Object(root).capabilities.c.examples).toEqual([
    {
      params: {
        a: 9007199254740993n,
        b: [-9223372036854775808n, 9007199254740993n, 7],
        c: 1e19,
        d: 9007199254740993n,
      },
      expect: { count: 1, rows: [{ id: 18446744073709551615n, sum: 12345678901234568 }] },
    },
  ]);
});

test.each([
  ['params: { p: { minimum: 9007199254740993 } }', 'params.p.minimum'],
  ['params: { p: { default: 1152921504606846976 } }', 'params.p.default'],
  ['params: { p: { multipleOf: 9007199254740993 } }', 'params.p.multipleOf'],
  ['params: { p: { enum: [1, -9007199254740993] } }', 'params.p.enum.1'],
  ['params: { p: { default: { ids: [9007199254740993] } } }', 'params.p.default.ids.0'],
  ['params: { p: { default: 12345678901234567.89 } }', 'params.p.default'],
  ['params: { p: { items: { maximum: 18446744073709551615 } } }', 'params.p.items.maximum'],
  ['examples: [{ params: { p: 12345678901234567.89 } }]', 'examples.0.params.p'],
])('a number that would be rounded is a fault: %s', (section, place) => {
  const { faults } = read(`capabilities: { c: { ${section} } }`);
  expect(faults).toEqual([
    expect.stringContaining(
      ` capabilities.c.${place} must be between -9007199254740991 and 9007199254740991`,
    ),
  ]);
});

test.each([
  ['an alias within its own anchor', 'a: &a [*a, *a]'],
  ['aliases of aliases', bomb()],
  ['nesting in flow style', '['.repeat(20_000)],
  ['nesting in block style', '- '.repeat(20_000)],
  ['nesting beyond the stack', `${'- '.repeat(100_000)}\na: 1`],
  ['nesting beyond our own bound', `${'['.repeat(80)}${']'.repeat(80)}`],
])('%s ends as a fault', (_, text) => {
  expect(read(text).faults.join()).toContain('nested too deeply');
});

/** Grows ninefold with each line. */
function bomb(): string {
  const lines = ['a0: &a0 [x, x, x, x, x, x, x, x, x]'];
  for (let level = 1; level <= 9; level += 1) {
    lines.push(`a${level}: &a${level} [${Array.from({ length: 9 }, () => `*a${level - 1}`).join(', ')}]`);
  }
  return lines.join('\n');
}

test('no fault of syntax repeats what may be a secret', () => {
  for (const secret of [
    '!canary',
    '*canary',
    '&canary',
    '%canary',
    '@canary',
    '"canary',
    'x: canary',
    '[canary',
    '`canary',
  ]) {
    const { faults } = read(`database:\n  password: ${secret}\n  user: u\n`);
    expect(faults.join('\n')).not.toContain('canary');
  }
});
