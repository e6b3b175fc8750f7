import { expect, test } from 'vitest';
import { insertCapability } from './insert-capability.ts';

const ONE_LINE = { sql: 'select 1 as one', result: { one: { type: 'integer', nullable: false } } };
const BLOCK = `  new:
    sql: select 1 as one
    result:
      one: { type: integer, nullable: false }
`;
const HEAD = `# The library.
service: {title: 'x'}   # odd   spacing stays
capabilities: # all of them
  a:
    sql: "select 1 as a"
    result: {a: {type: integer}}  # fine
`;

/** What stands around the insertion mark `^` is the file. */
test.each([
  ['at the end', `${HEAD}^`, BLOCK],
  ['in front of the next section', `${HEAD}^\ndefaults: {timeout: 5s}\n`, BLOCK],
  ['behind the comment of the last one', `${HEAD}    # of a\n^# of the file\n`, BLOCK],
  [
    'with the empty line that the others have',
    `${HEAD}\n  # b:\n  b:\n    sql: |\n      select 1\n    result: {}\n^`,
    `\n${BLOCK}`,
  ],
  ['where the file has no last line break', `${HEAD.trimEnd()}^`, `\n${BLOCK}`],
  ['with the line breaks of the file', `${HEAD.replaceAll('\n', '\r\n')}^`, BLOCK.replaceAll('\n', '\r\n')],
  [
    'with the indentation of the file',
    'capabilities:\n      a:\n          sql: x\n^',
    BLOCK.replaceAll(/^/gm, '    ').trimEnd() + '\n',
  ],
  [
    'into braces',
    'capabilities: {a: {sql: x}^}',
    ', "new": {"sql":"select 1 as one","result":{"one":{"type":"integer","nullable":false}}}',
  ],
  [
    'into JSON',
    '{\n "capabilities": {\n  "a": {"sql": "x"}^\n }\n}\n',
    ',\n  "new": {"sql":"select 1 as one","result":{"one":{"type":"integer","nullable":false}}}',
  ],
])('a capability goes %s', (_, marked, added) => {
  const at = marked.indexOf('^');
  const text = marked.replace('^', '');
  expect(insertCapability(text, 'new', ONE_LINE)?.text).toBe(`${text.slice(0, at)}${added}${text.slice(at)}`);
});

test('SQL of several lines stays as it is written', () => {
  const sql = "  select 'a: b' as a, -- # no comment\n\n    1 as b\nfrom t";
  const added = insertCapability(HEAD, 'new', { sql, result: {} });
  expect(added?.text).toContain(
    `    sql: |2-\n        select 'a: b' as a, -- # no comment\n\n          1 as b\n      from t\n`,
  );
  expect(added?.section.startsWith('new:\n  sql: |2-\n')).toBe(true);
});

test.each(['', 'capabilities:\n', 'capabilities: {}\n', 'capabilities: [1]\n', '- 1\n', 'a: 1\n'])(
  '%j has no place for it',
  (text) => {
    expect(insertCapability(text, 'new', ONE_LINE)).toBeUndefined();
  },
);
