import { expect, test } from 'vitest';
import { fileText, load } from '../load.fixture.ts';

const RESULT = 'result: { one: { type: integer } }';

function warningsOf(...capabilities: readonly string[]): readonly string[] {
  const loaded = load(fileText({ capabilities: ['capabilities:', ...capabilities].join('\n') }));
  if ('faults' in loaded) throw new Error(JSON.stringify(loaded.faults));
  return loaded.warnings.map(
    ({ path, message, position }) => `${position?.line}:${position?.column} ${path}: ${message}`,
  );
}

test('what is shown to callers has a description', () => {
  const sql = 'sql: SELECT 1 AS one';
  expect(warningsOf(`  a: { description: One, ${sql}, ${RESULT} }`)).toEqual([]);
  expect(warningsOf(`  a: { expose_in_openapi: false, ${sql}, ${RESULT} }`)).toEqual([]);
  expect(
    warningsOf(
      `  a: { description: One, ${sql}, ${RESULT} }`,
      `  b: { ${sql}, ${RESULT} }`,
      `  c: { description: " ", ${sql}, ${RESULT} }`,
    ),
  ).toEqual([
    '6:3 capabilities.b.description: is missing here and in 1 more: callers and models choose by it',
  ]);
});

test('a warning names the place of a comment that swallows the next line', () => {
  const rest = ['      from book', '    description: One', `    ${RESULT}`];
  const text = (style: string) => ['  a:', `    sql: ${style}`, '      select 1 as one -- one', ...rest];
  expect(warningsOf(...text('>'))).toEqual([
    expect.stringMatching(/^7:23 capabilities\.a\.sql: this comment swallows .* write `sql: \|`/),
  ]);
  expect(warningsOf(...text('|'))).toEqual([]);
  const plain = ['  a:', '    sql: select 1 as one -- one', ...rest];
  expect(warningsOf(...plain)).toEqual([expect.stringMatching(/^6:26 capabilities\.a\.sql: /)]);
});

test('pages are never cut where too many rows are an error', () => {
  const list = (policy: string) =>
    `  a: { description: One, sql: SELECT 1 AS one, paging: one, ${policy}result: { one: { type: integer, nullable: false } } }`;
  expect(warningsOf(list(''))).toEqual([]);
  expect(warningsOf(list('policy: { on_limit: error }, '))).toEqual([
    expect.stringMatching(/^5:\d+ capabilities\.a\.policy\.on_limit: is `error` beside `paging`/),
  ]);
});
