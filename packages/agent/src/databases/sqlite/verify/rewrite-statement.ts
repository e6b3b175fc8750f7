import type { Capability } from '../../../capabilities/model.ts';
import { listParameters } from '../../sql/places/list-places.ts';
import { rewrite, writtenAs, type Rewriting } from '../../sql/places/rewrite.ts';
import { rowCounts, type RowCount } from '../../sql/places/row-counts.ts';
import type { SqlToken } from '../../sql/scanner.ts';

/** Fails with an integer overflow, which callers see as a value out of range. */
const OUT_OF_RANGE = 'abs(-9223372036854775807 - 1)';

/**
 * The statement as SQLite is to run it: lists in the parentheses of IN are read from their JSON text, of which null has no
 * value at all, and a LIMIT or OFFSET by parameters means what it means to other databases: SQLite takes a negative one for
 * none, and fails for null.
 */
export function rewriteStatement(sql: string, body: readonly SqlToken[], capability: Capability): string {
  const lists = listParameters(body, capability).map(({ index, param: { name } }): Rewriting => {
    return {
      start: index,
      end: index + 1,
      text: `select value from json_each(coalesce(:${name}, '[null]'))`,
    };
  });
  const counts = rowCounts(body).flatMap(({ of, start, end }): readonly Rewriting[] => {
    if (!body.slice(start, end).some(({ kind }) => kind === 'parameter')) return [];
    // Otherwise a list in it would be rewritten twice.
    if (lists.some((list) => list.start >= start && list.end <= end)) return [];
    const count = `(${writtenAs(sql, body, start, end)})`;
    return [{ start, end, text: ` ${rowCount(of, count)} ` }];
  });
  return rewrite(sql, body, [...lists, ...counts]);
}

/** A row count with the meaning of other databases. `count` is an operand. */
export function rowCount(of: RowCount['of'], count: string): string {
  const none = of === 'limit' ? -1 : 0;
  return `case when ${count} is null then ${none} when ${count} < 0 then ${OUT_OF_RANGE} else ${count} end`;
}
