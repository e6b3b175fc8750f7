import { testDatabase } from '@svc/testkit';
import { expect, test } from 'vitest';
import { checkedValues } from './column-kind.ts';

const CHECKS: readonly (readonly [type: string, check: string, values: readonly string[] | undefined])[] = [
  ['text', "x in ('a', 'b')", ['a', 'b']],
  ['varchar(9)', "x in ('it''s', 'b, c', ')')", ["it's", 'b, c', ')']],
  ['char(3)', "x in ('a', 'b')", ['a', 'b']],
  ['text', "x = any (array['a', 'b'])", ['a', 'b']],
  ['text', "x = 'a' or x = 'b'", undefined],
  ['text', "x not in ('a', 'b')", undefined],
  ['text', "x in ('a', 'b') and length(x) < 3", undefined],
  ['text', "lower(x) in ('a', 'b')", undefined],
  ['text', "x <> ''", undefined],
  ['integer', 'x in (1, 2)', undefined],
];

test('of a check as the server writes it, the values of a list are found, and of no other', async () => {
  const database = await testDatabase();
  for (const [index, [type, check, values]] of CHECKS.entries()) {
    await database.execute(`create table t_${index} (x ${type} check (${check}))`);
    const [row] = await database.query<{ definition: string }>(
      `select pg_get_constraintdef(oid) as definition from pg_constraint where conrelid = 't_${index}'::regclass`,
    );
    expect([check, checkedValues(row?.definition ?? '')]).toEqual([check, values]);
  }
});
