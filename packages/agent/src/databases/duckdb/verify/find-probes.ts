import { valueProbes, type ValueProbe } from '../../sql/probes/value-probes.ts';
import { listOf, rowsOf } from './list-places.ts';
import { probeDialect } from './probe-dialect.ts';
import { castOf, type ReadStatement, type Typing } from './read-statement.ts';

/** What tells the values of a statement's parameters from its data: they are written as in the statement. */
export function findProbes(
  sql: string,
  { body, params, references }: ReadStatement,
  typing: Typing,
): readonly ValueProbe[] {
  const lists = references.flatMap(({ number, param: { schema }, form }, at) => {
    const text =
      form === 'rows' ? rowsOf(1, schema, typing.found[at] ?? null) : `SELECT ${listOf(1, schema)}`;
    return form === 'rows' || form === 'list' ? [{ text, params: [number - 1] }] : [];
  });
  const casts = new Map(
    references.map((reference, at) => [reference.param.name, castOf(reference, at, typing)]),
  );
  const values = valueProbes(sql, body, params, {
    ...probeDialect,
    placeholder(number, { name }) {
      const cast = casts.get(name);
      return cast === undefined ? `$${number}` : `CAST($${number} AS ${cast})`;
    },
  });
  return [...lists, ...values];
}
