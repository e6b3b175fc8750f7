import { parseSync } from 'libpg-query';
import type { CapabilityLimits } from '../../../capabilities/model.ts';
import { attribution } from '../execute/attribution.ts';
import type { ResultForm } from '../execute/prepared-query.ts';
import { quoteIdentifier } from './statement/quote-identifier.ts';
import { RELEASE_LOCKS } from '../connection/transaction-settings.ts';
import { fingerprint, isNode, type TreeNode } from './statement/tree.ts';

export interface OutputColumn {
  readonly name: string;
  /** SQL over `q."column"`. */
  readonly sql: string;
  /** Where false, a null among the rows given is reported. */
  readonly nullable: boolean;
}

export interface Wrapping {
  /** The name of the capability. */
  readonly capability: string;
  /** Whether the planner finds anything volatile in the user's statement. */
  readonly isVolatile: boolean;
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

/** With its schema, since an account that may create in a schema of the search path could define another of that name. */
const AT_MOST = 'operator(pg_catalog.<=)';
/** How many subselects lie around the user's statement where it is one. */
const DEPTH = { whole: 4, prefix: 5 };
/** How many bytes of the server's memory the rows of a result in the form `whole` may take. */
const WHOLE_MAX_BYTES = 67_108_864;

/**
 * Puts the SQL around the user's statement that makes the answer in the database, in one row; what is over a cap never
 * leaves the database. Rows come as JSON joined by commas, in the user's order.
 *
 * - `whole`: (number of rows; the rows, or null when they are too many, too long together or one is too long to be gathered,
 *   or there are none).
 * - `prefix`: (number of rows given, whether some were left out, whether one alone is over the cap, the rows), the rows
 *   given being as many of the first as fit. Counting as it goes takes the server a third longer.
 *
 * Behind that comes a field that is null and must not be, only where there are such fields.
 */
export function wrapSelect(select: string, wrapping: Wrapping, form: ResultForm): string {
  const { maxRows } = wrapping.limits;
  const fields = wrapping.columns.map(({ name, sql }) => `${sql} as ${quoteIdentifier(name)}`).join(', ');
  // `r` alone would be a field of that name.
  const row = 'pg_catalog.row_to_json(r.*)::pg_catalog.text';
  const json = wrapping.foldLines
    ? `pg_catalog.translate(${row}, pg_catalog.concat(pg_catalog.chr(10), pg_catalog.chr(13)), '  ')`
    : row;
  const nulls = wrapping.columns.flatMap(({ name, nullable }) =>
    // Unlike "is null", this is false for a row whose fields are all null.
    nullable ? [] : [`when r.${quoteIdentifier(name)} is not distinct from null then ${quoteLiteral(name)}`],
  );
  const missing = nulls.length === 0 ? '' : `, case ${nulls.join(' ')} end as missing`;
  // The limit and the offset also keep the planner from merging the levels, which would build each row's JSON, and
  // compute each column, several times.
  const rows = `(select ${json} as j${missing} from (select ${fields} from (select * from ${wrapping.isVolatile ? `(\n${select}\n) q` : 'q'} offset 0) q) r limit ${maxRows + 1}) x`;
  const around = (form === 'whole' ? whole : prefix)(rows, wrapping, missing !== '');
  // Administrators see the first kilobyte of a running statement: the capability's name and what its author wrote stand
  // there. The planner merges a WITH query that is used once, but it would store all rows of a volatile one.
  return `${attribution(wrapping.capability)}${wrapping.isVolatile ? '' : `with q as (\n${select}\n) `}${around}`;
}

function whole(rows: string, wrapping: Wrapping, hasMissing: boolean): string {
  const { maxRows, maxBytes } = wrapping.limits;
  const length = lengthOf(wrapping);
  // Rows of any length, gathered before their lengths are known, could take the server any amount of memory.
  const rowMax = Math.min(maxBytes, Math.floor(WHOLE_MAX_BYTES / (maxRows + 1)));
  // One more for the opening bracket; the closing one stands for the comma of the last row.
  const total = `pg_catalog.sum(${length}) operator(pg_catalog.+) pg_catalog.count(*) operator(pg_catalog.+) 1`;
  const fits = `pg_catalog.count(*) ${AT_MOST} ${maxRows} and pg_catalog.max(${length}) ${AT_MOST} ${rowMax} and ${total} ${AT_MOST} ${maxBytes}`;
  return `select ${counting('count(*)', wrapping)},
 case when ${fits} then pg_catalog.string_agg(x.j, ',') filter (where ${length} ${AT_MOST} ${rowMax}) end${hasMissing ? ', pg_catalog.min(x.missing)' : ''}
from ${rows}`;
}

function prefix(rows: string, wrapping: Wrapping, hasMissing: boolean): string {
  const { maxRows, maxBytes } = wrapping.limits;
  const size = `${lengthOf(wrapping)} operator(pg_catalog.+) 1`;
  // `size` counts a row and the comma or bracket behind it, `total` the array up to there with its opening bracket. A
  // row that alone is too long is told from one that merely comes late by what went before it.
  const fits = `y.n ${AT_MOST} ${maxRows} and y.total ${AT_MOST} ${maxBytes}`;
  const alone = `y.n ${AT_MOST} ${maxRows} and (y.total operator(pg_catalog.-) y.size) ${AT_MOST} ${maxBytes} and y.size operator(pg_catalog.>=) ${maxBytes}`;
  return `select ${counting(`count(*) filter (where ${fits})`, wrapping)},
 coalesce(pg_catalog.bool_or(not (${fits})), false),
 coalesce(pg_catalog.bool_or(${alone}), false),
 pg_catalog.string_agg(y.j, ',') filter (where ${fits})${hasMissing ? `, pg_catalog.min(y.missing) filter (where ${fits})` : ''}
from (select x.*, ${size} as size, pg_catalog.row_number() over w as n, pg_catalog.sum(${size}) over w operator(pg_catalog.+) 1 as total
from ${rows}
window w as (rows unbounded preceding)) y`;
}

function lengthOf({ utf8 }: Wrapping): string {
  return utf8
    ? 'pg_catalog.octet_length(x.j)'
    : "pg_catalog.octet_length(pg_catalog.convert_to(x.j, 'UTF8'))";
}

function counting(count: string, { unlocks }: Wrapping): string {
  // Part of the outermost row, so it is computed last: there it costs little, and behind a pooler it runs on the
  // connection that holds the locks.
  return unlocks ? `pg_catalog.concat(pg_catalog.${count}, ${RELEASE_LOCKS})` : `pg_catalog.${count}`;
}

function quoteLiteral(text: string): string {
  return `'${text.replaceAll("'", "''")}'::pg_catalog.text`;
}

/**
 * Whether `wrapped` holds exactly `select` where the subselect belongs, and nothing of it anywhere else: the last
 * guard against a statement that reaches out of its parentheses. The parser module must have been loaded.
 */
export function wrapsExactly(
  wrapped: string,
  select: TreeNode,
  wrapping: Wrapping,
  form: ResultForm,
): boolean {
  const depth = wrapping.isVolatile ? DEPTH[form] : undefined;
  const found = split(wrapped, depth);
  const expected = split(wrapSelect('select 1', wrapping, form), depth);
  return (
    found !== undefined &&
    expected !== undefined &&
    fingerprint(found.inner) === fingerprint(select) &&
    found.around === expected.around
  );
}

/** Without a depth the user's statement is the one WITH query. */
function split(
  wrapped: string,
  depth: number | undefined,
): { readonly inner: TreeNode; readonly around: string } | undefined {
  const parsed: unknown = parseSync(wrapped);
  if (!isNode(parsed) || !Array.isArray(parsed['stmts']) || parsed['stmts'].length !== 1) return undefined;
  const statement: unknown = parsed['stmts'][0];
  let inner = selectIn(isNode(statement) ? statement['stmt'] : undefined);
  if (depth === undefined && inner !== undefined) inner = firstWithQuery(inner);
  for (let passed = 0; passed < (depth ?? 0) && inner !== undefined; passed += 1)
    inner = firstSubselect(inner);
  return inner === undefined ? undefined : { inner, around: fingerprint(parsed, inner) };
}

function selectIn(node: unknown): TreeNode | undefined {
  const select = isNode(node) ? node['SelectStmt'] : undefined;
  return isNode(select) ? select : undefined;
}

function firstWithQuery(select: TreeNode): TreeNode | undefined {
  const clause = select['withClause'];
  const queries: unknown = isNode(clause) ? clause['ctes'] : undefined;
  const first: unknown = Array.isArray(queries) ? queries[0] : undefined;
  const query = isNode(first) ? first['CommonTableExpr'] : undefined;
  return isNode(query) ? selectIn(query['ctequery']) : undefined;
}

function firstSubselect(select: TreeNode): TreeNode | undefined {
  const from: unknown = Array.isArray(select['fromClause']) ? select['fromClause'][0] : undefined;
  const range = isNode(from) ? from['RangeSubselect'] : undefined;
  return isNode(range) ? selectIn(range['subquery']) : undefined;
}
