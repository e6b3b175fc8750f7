import { expect, test } from 'vitest';
import { capabilityOfSpec } from '../conformance/clauses/lists.testing.ts';
import { verifier as mysql } from '../mysql/verifier.ts';
import { verifier as sqlite } from '../sqlite/verifier.ts';

test.each([
  ['sqlite', sqlite],
  ['mysql', mysql],
])('on %s nulls come last in descending order', { tags: ['command:lint'] }, async (_name, verifier) => {
  const list = capabilityOfSpec({
    sql: 'select id, made from item',
    sort: { oldest: 'made', newest: 'made desc', first: 'id desc' },
    paging: 'id',
    result: { id: { type: 'integer', nullable: false }, made: { type: 'date' } },
  });
  expect(await verifier.findClauseAdvice?.([list])).toEqual([
    { kind: 'nullable_sort', capability: 'list', order: 'newest', field: 'made' },
  ]);
});
