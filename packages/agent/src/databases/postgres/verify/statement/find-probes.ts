import { markLists } from '../../../sql/places/list-places.ts';
import { valueProbes, type ValueProbe } from '../../../sql/probes/value-probes.ts';
import { scanSql } from '../../../sql/scanner.ts';
import type { BoundParam } from '../../execute/prepared-query.ts';
import { probeDialect } from './probe-dialect.ts';

/** What tells the values of a statement's parameters from its data. `references` are the names that its parser has found. */
export function findProbes(
  sql: string,
  references: readonly string[],
  params: readonly BoundParam[],
): readonly ValueProbe[] {
  const scanned = scanSql(sql, probeDialect.lexicon);
  if (!scanned.ok) return [];
  const tokens = scanned.tokens.filter(({ kind }) => kind !== 'comment');
  const names = tokens.filter(({ kind }) => kind === 'parameter').map(({ text }) => text.slice(1));
  // Else the scanner reads it otherwise than the server.
  if (names.join() !== references.join()) return [];
  const own = params.map(({ param }) => param);
  const marked = markLists(own, tokens, { params: own });
  return valueProbes(sql, tokens, marked, {
    ...probeDialect,
    placeholder(number, param) {
      const [cast] = params.find((each) => each.param.name === param.name)?.casts ?? [];
      return cast === undefined ? `$${number}` : `($${number}::${cast})`;
    },
  });
}
