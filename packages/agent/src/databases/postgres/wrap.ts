import { parseSync } from 'libpg-query';
import type { CapabilityLimits } from '../../config/agent-config.ts';
import { quoteIdentifier } from './columns.ts';
import { RELEASE_LOCKS } from './settings.ts';
import { fingerprint, isNode, type TreeNode } from './tree.ts';

export interface OutputColumn {
  readonly name: string;
  /** SQL over `q."column"`. */
  readonly sql: string;
  /** Where false, a null among the rows given is reported. */
  readonly nullable: boolean;
}

export interface Wrapping {
  /** In the order of the fields of a row. */
  readonly columns: readonly OutputColumn[];
  readonly limits: Pick<CapabilityLimits, 'maxRows' | 'maxBytes'>;
  /** False when the database's own encoding counts other bytes than the ones sent. */
  readonly utf8: boolean;
  /** Whether the account may give back the locks that the statement's functions took. */
  readonly unlocks: boolean;
  /** Rows may hold line breaks between JSON tokens, which are made spaces so that a row stays one line. */
  readonly foldLines: boolean;
}

/** Anybody who may create in a schema of the search path could put an operator of the same name in front of it. */
const AT_MOST = 'operator(pg_catalog.<=)';
/** How many subselects lie around the user's statement. */
const DEPTH = 5;

/**
 * Puts the SQL around the user's statement that makes the answer in the database: one row of
 * (rows given, some were left out, one alone is over the cap, the rows as JSON joined by commas, a field that is null
 * and must not be, which only those have that know such fields).
 * Rows are a prefix in the user's order; what is over a cap never leaves the database.
 */
export function wrapSelect(select: string, wrapping: Wrapping): string {
  const { maxRows, maxBytes } = wrapping.limits;
  const fields = wrapping.columns.map(({ name, sql }) => `${sql} as ${quoteIdentifier(name)}`).join(', ');
  // `r` alone would be a field of that name.
  const row = 'pg_catalog.row_to_json(r.*)::pg_catalog.text';
  const json = wrapping.foldLines
    ? `pg_catalog.translate(${row}, pg_catalog.concat(pg_catalog.chr(10), pg_catalog.chr(13)), '  ')`
    : row;
  const length = wrapping.utf8
    ? 'pg_catalog.octet_length(x.j)'
    : "pg_catalog.octet_length(pg_catalog.convert_to(x.j, 'UTF8'))";
  const size = `${length} operator(pg_catalog.+) 1`;
  // `size` counts a row and the comma or bracket behind it, `total` the array up to there with its opening bracket. A
  // row that alone is too long is told from one that merely comes late by what went before it.
  const fits = `y.n ${AT_MOST} ${maxRows} and y.total ${AT_MOST} ${maxBytes}`;
  const alone = `y.n ${AT_MOST} ${maxRows} and (y.total operator(pg_catalog.-) y.size) ${AT_MOST} ${maxBytes} and y.size operator(pg_catalog.>=) ${maxBytes}`;
  const nulls = wrapping.columns.flatMap(({ name, nullable }) =>
    // Unlike "is null", this is false for a row whose fields are all null.
    nullable ? [] : [`when r.${quoteIdentifier(name)} is not distinct from null then ${quoteLiteral(name)}`],
  );
  const [missing, missed] =
    nulls.length === 0
      ? ['', '']
      : [`, case ${nulls.join(' ')} end as missing`, `, pg_catalog.min(y.missing) filter (where ${fits})`];
  const given = `pg_catalog.count(*) filter (where ${fits})`;
  // Computed when all of the statement has been: there it costs next to nothing, and behind a pooler it reaches the
  // connection that holds the locks.
  const count = wrapping.unlocks ? `pg_catalog.concat(${given}, ${RELEASE_LOCKS})` : given;
  // The limit and the offset also keep the planner from merging the levels, which would build each row's JSON, and
  // compute each column, several times.
  return `select ${count},
 coalesce(pg_catalog.bool_or(not (${fits})), false),
 coalesce(pg_catalog.bool_or(${alone}), false),
 pg_catalog.string_agg(y.j, ',') filter (where ${fits})${missed}
from (select x.*, ${size} as size, pg_catalog.row_number() over w as n, pg_catalog.sum(${size}) over w operator(pg_catalog.+) 1 as total
from (select ${json} as j${missing} from (select ${fields} from (select * from (
${select}
) q offset 0) q) r limit ${maxRows + 1}) x
window w as (rows unbounded preceding)) y`;
}

function quoteLiteral(text: string): string {
  return `'${text.replaceAll("'", "''")}'::pg_catalog.text`;
}

/**
 * Whether `wrapped` holds exactly `select` where the subselect belongs, and nothing of it anywhere else: the last
 * guard against a statement that reaches out of its parentheses. The parser module must have been loaded.
 */
export function wrapsExactly(wrapped: string, select: TreeNode, wrapping: Wrapping): boolean {
  const found = split(wrapped);
  const expected = split(wrapSelect('select 1', wrapping));
  return (
    found !== undefined &&
    expected !== undefined &&
    fingerprint(found.inner) === fingerprint(select) &&
    found.around === expected.around
  );
}

function split(wrapped: string): { readonly inner: TreeNode; readonly around: string } | undefined {
  const parsed: unknown = parseSync(wrapped);
  if (!isNode(parsed) || !Array.isArray(parsed['stmts']) || parsed['stmts'].length !== 1) return undefined;
  const statement: unknown = parsed['stmts'][0];
  let inner = selectIn(isNode(statement) ? statement['stmt'] : undefined);
  for (let depth = 0; depth < DEPTH && inner !== undefined; depth += 1) inner = firstSubselect(inner);
  return inner === undefined ? undefined : { inner, around: fingerprint(parsed, inner) };
}

function selectIn(node: unknown): TreeNode | undefined {
  const select = isNode(node) ? node['SelectStmt'] : undefined;
  return isNode(select) ? select : undefined;
}

function firstSubselect(select: TreeNode): TreeNode | undefined {
  const from: unknown = Array.isArray(select['fromClause']) ? select['fromClause'][0] : undefined;
  const range = isNode(from) ? from['RangeSubselect'] : undefined;
  return isNode(range) ? selectIn(range['subquery']) : undefined;
}
