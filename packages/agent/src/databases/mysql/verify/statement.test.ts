import { expect, test } from 'vitest';
import { oneSelect } from '../../sql/one-select.ts';
import { scanSql } from '../../sql/scanner.ts';
import { unknownFunctions } from './known-functions.ts';
import { lexicon } from './lexicon.ts';
import { vocabulary } from '../dialect/vocabulary.ts';

/** What is wrong with it, or the functions that would have to be allowed. */
function judge(sql: string): string {
  const scanned = scanSql(sql, lexicon);
  if (!scanned.ok) return scanned.problem;
  const judged = oneSelect(scanned.tokens, vocabulary);
  if (!judged.ok) return judged.problem;
  return unknownFunctions(judged.select.functions).join(', ');
}

test.each([
  ['select id as a from book where title like :t order by id desc limit 5'],
  ['with recursive n (i) as (select 1 union all select i + 1 from n where i < 9) select i as a from n;'],
  ['select count(*) as a, max(`Select`) as b from t group by c having count(*) > 1 -- :x; delete'],
  [`select 'it''s', "a\\"b", x'41', _utf8mb4'é', 1e5, .5, 0x1F as a # ; drop`],
  ['select cast(a as decimal(10, 2)) as a, left(b, 3) as b, if(c, 1, 2) as c, t.for as d from t'],
  ['select a from t where b between :x and :y and (c, d) in ((1, 2)) /* ? @ ; */'],
  ['select sum(a) over (partition by b order by c rows between 1 preceding and current row) as a from t'],
])('%s only reads', (sql) => {
  expect(judge(sql)).toBe('');
});

test.each([
  // Comments that are code or hints.
  ['select 1 /*! into outfile "/tmp/x" */', /acts upon/],
  ['select /*M! 1 */ 1', /acts upon/],
  ['select /*+ MAX_EXECUTION_TIME(60000) */ 1', /acts upon/],
  ["select /*+ SET_VAR(sql_mode='') */ 1", /acts upon/],
  ['select 1 /* /* */', /comment within/],
  // Other statements.
  ['set statement max_statement_time=0 for select 1', /no SELECT/],
  ['select 1; delete from t', /more than one/],
  ['with x as (select 1) delete from t', /DELETE/],
  ['lock tables t read', /no SELECT/],
  ['handler t open', /no SELECT/],
  ['do sleep(1)', /no SELECT/],
  ['start transaction read write', /no SELECT/],
  ['set session transaction read write', /no SELECT/],
  ['select 1) q; delete from t; --', /more than one/],
  ['select 1) q', /has not opened/],
  // What a SELECT may do beside reading.
  ["select 1 into outfile '/tmp/x'", /INTO/],
  ['select 1 into @v', /character @/],
  ['select @v := 1', /character @/],
  ['select @@global.read_only', /character @/],
  ['select a from t for update', /FOR/],
  ['select a from t lock in share mode', /LOCK/],
  ['select next value for s', /FOR/],
  ['select a from t procedure analyse()', /PROCEDURE/],
  // Where a number ends and a word begins.
  ['select 1e5for update', /number with text/],
  ['select .5for update', /number with text/],
  ['select 1.for update', /number with text/],
  ['select a.5for from t', /number with text|begins with a digit/],
  // What could be read in two ways.
  [String.raw`select '\' or 1`, /without its end/],
  ["select n'a'", /directly after a word/],
  ['select 1--;', /ends with an operator/],
  ['select ?', /:name/],
  ['select a from t where b =: c', /begins no parameter/],
  ['select upper:a', /directly beside/],
  ['select \\N', /character/],
  ['select {d "2024-01-01"}', /character/],
  ['select 1\0', /control characters/],
  ['select 1\u001a', /control characters/],
])('%s is refused', (sql, problem) => {
  expect(judge(sql)).toMatch(problem);
});

test.each([
  ["get_lock('a', 1)", 'get_lock'],
  ['sleep(1)', 'sleep'],
  ['sleep/**/(1)', 'sleep'],
  ['SLEEP -- \n (1)', 'sleep'],
  ['`sleep`(1)', 'sleep'],
  ['`count`(1)', 'count'],
  ['other.count(1)', 'other.count'],
  ['`a`.`b`(1)', 'a.b'],
  ['\u017fleep(1)', '\u017fleep'],
  ['benchmark(1, 1)', 'benchmark'],
  ["load_file('/etc/passwd')", 'load_file'],
  ['last_insert_id(7)', 'last_insert_id'],
  ['nextval(s)', 'nextval'],
  ['setval(s, 1)', 'setval'],
  ['release_all_locks()', 'release_all_locks'],
  ["master_pos_wait('a', 1)", 'master_pos_wait'],
  ["name_const('a', 1)", 'name_const'],
])('%s is a function that has to be allowed', (expression, name) => {
  expect(judge(`select ${expression} as a`)).toBe(name);
});
