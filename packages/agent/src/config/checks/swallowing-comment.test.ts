import { expect, test } from 'vitest';
import { swallowingComment } from './find-warnings.ts';

test.each([
  ['a folded text', '>\n  select 1 -- one\n  from book\n', { line: 1, column: 11 }],
  ['a folded text that is stripped', '>-\n    select 1\n    -- one\n    from book', { line: 2, column: 4 }],
  ['a plain text of two lines', 'select 1 -- one\n      from book', { line: 0, column: 9 }],
  ['an apostrophe in the comment', ">\n select 1 -- it's\n from book where a = 'b'", { line: 1, column: 10 }],
  ['behind a quoted text', ">\n select '--' -- one\n from book", { line: 1, column: 13 }],
])('%s', (_what, source, place) => {
  expect(swallowingComment(source)).toEqual(place);
});

test.each([
  ['at the end', '>\n  select 1\n  -- one\n'],
  ['at the end, and blank lines', '>\n  select 1 -- one\n\n\n'],
  ['before an empty line, which ends it', '>\n  select 1 -- one\n\n  from book\n'],
  ['before a line that is indented further', '>\n  select 1 -- one\n    from book\n'],
  ['on a line that is indented further', '>\n  select 1,\n    2 -- two\n  from book\n'],
  ['in a quoted text', '>\n  select \'-- no\', "--"\n  from book\n'],
  ['in another comment', '>\n  select 1 /* -- no\n  no */ from book\n'],
  ['in a dollar-quoted text', '>\n  select $a$ -- no $a$\n  from book\n'],
  ['in one line', 'select 1 -- one'],
])('none: %s', (_what, source) => {
  expect(swallowingComment(source)).toBeUndefined();
});
