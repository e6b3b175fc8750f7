import { parseSync } from 'libpg-query';
import type { CapabilityLimits } from '../../../capabilities/model.ts';
import { attribution } from '../execute/attribution.ts';
import type { ResultForm } from '../execute/prepared-query.ts';
import { quoteIdentifier } from '../dialect/quote-identifier.ts';
import { RELEASE_LOCKS } from '../connection/transaction-settings.ts';
import { fingerprint, isNode, type TreeNode } from './statement/tree.ts';

export interface OutputColumn {
  readonly name: string;
  /** SQL over `q."column"` of the value. */
  readonly value: string;
  /** SQL over `q."column"` of its JSON as text; null where the value is. */
  readonly json: string;
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
  /** Whether the planner expects so few rows that it matters what beginning with the statement takes. */
  readonly fewRows: boolean;
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
 * - `whole`: (number of rows; the rows, or null when they are too many, too long together, one is too long to be gathered
 *   or has a null that must not be, or there are none).
 * - `prefix`: (number of rows given, whether some were left out, whether one alone is over the cap, the rows), the rows
 *   given being as many of the first as fit. Counting as it goes takes the server a third longer. Behind that comes a
 *   field that is null and must not be, only where there are such fields.
 */
export function wrapSelect(select: string, wrapping: Wrapping, form: ResultForm): string {
  // The offset keeps the planner from merging the user's statement, which would compute each column several times.
  const source = `(select * from ${wrapping.isVolatile ? `(\n${select}\n) q` : 'q'} offset 0) q`;
  const around = (form === 'whole' ? whole : prefix)(source, wrapping);
  // Administrators see the first kilobyte of a running statement: the capability's name and what its author wrote stand
  // there. The planner merges a WITH query that is used once, but it would store all rows of a volatile one.
  return `${attribution(wrapping.capability)}${wrapping.isVolatile ? '' : `with q as (\n${select}\n) `}${around}`;
}

function whole(source: string, wrapping: Wrapping): string {
  const { columns, utf8 } = wrapping;
  const { maxRows, maxBytes } = wrapping.limits;
  const byType = isByType(wrapping);
  const fields = fieldsOf(columns, byType ? 'value' : 'json');
  const row = byType ? checkedRow(columns) : joinedRow(columns, ({ nullable }) => nullable);
  // Rows of any length, gathered before their lengths are known, could take the server any amount of memory.
  const rowMax = Math.min(maxBytes, Math.floor(WHOLE_MAX_BYTES / (maxRows + 1)));
  const gathered = `filter (where ${lengthOf(wrapping)} ${AT_MOST} ${rowMax})`;
  const rows = `pg_catalog.string_agg(x.j, ',') ${gathered}`;
  // The brackets, too: for other encodings the closing one stands for the comma of the last row.
  const total = utf8
    ? `pg_catalog.octet_length(${rows}) operator(pg_catalog.+) 2`
    : `pg_catalog.sum(${lengthOf(wrapping)}) operator(pg_catalog.+) pg_catalog.count(*) operator(pg_catalog.+) 1`;
  const fits = `pg_catalog.count(*) ${AT_MOST} ${maxRows} and pg_catalog.count(*) operator(pg_catalog.=) pg_catalog.count(*) ${gathered} and ${total} ${AT_MOST} ${maxBytes}`;
  // The limit also keeps the planner from building each row's JSON several times.
  return `select ${counting('count(*)', wrapping)},
 case when ${fits} then ${rows} end
from (select ${row} as j from (select ${fields} from ${source}) r limit ${maxRows + 1}) x`;
}

function prefix(source: string, wrapping: Wrapping): string {
  const { columns } = wrapping;
  const { maxRows, maxBytes } = wrapping.limits;
  const byType = isByType(wrapping);
  const fields = fieldsOf(columns, byType ? 'value' : 'json');
  const row = byType ? ROW_BY_TYPE : joinedRow(columns, () => true);
  const nulls = columns.flatMap(({ name, nullable }) =>
    nullable ? [] : [`when ${isNull(name)} then ${quoteLiteral(name)}`],
  );
  const missing = nulls.length === 0 ? '' : `, case ${nulls.join(' ')} end as missing`;
  const size = `${lengthOf(wrapping)} operator(pg_catalog.+) 1`;
  // `size` counts a row and the comma or bracket behind it, `total` the array up to there with its opening bracket. A
  // row that alone is too long is told from one that merely comes late by what went before it.
  const fits = `y.n ${AT_MOST} ${maxRows} and y.total ${AT_MOST} ${maxBytes}`;
  const alone = `y.n ${AT_MOST} ${maxRows} and (y.total operator(pg_catalog.-) y.size) ${AT_MOST} ${maxBytes} and y.size operator(pg_catalog.>=) ${maxBytes}`;
  // The offset and the limit also keep the planner from building JSON several times.
  return `select ${counting(`count(*) filter (where ${fits})`, wrapping)},
 coalesce(pg_catalog.bool_or(not (${fits})), false),
 coalesce(pg_catalog.bool_or(${alone}), false),
 pg_catalog.string_agg(y.j, ',') filter (where ${fits})${missing === '' ? '' : `, pg_catalog.min(y.missing) filter (where ${fits})`}
from (select x.*, ${size} as size, pg_catalog.row_number() over w as n, pg_catalog.sum(${size}) over w operator(pg_catalog.+) 1 as total
from (select ${row} as j${missing} from (select ${fields} from ${source} offset 0) r limit ${maxRows + 1}) x
window w as (rows unbounded preceding)) y`;
}

function fieldsOf(columns: readonly OutputColumn[], form: 'value' | 'json'): string {
  return columns.map((column) => `${column[form]} as ${quoteIdentifier(column.name)}`).join(', ');
}

/** The JSON of a row: looks up every column's type for each. `r` alone would be a field of that name. */
const ROW_BY_TYPE = 'pg_catalog.row_to_json(r.*)::pg_catalog.text';

/** It is shorter, too: what stands before a volatile statement must leave it in the first kilobyte. */
function isByType({ fewRows, isVolatile }: Wrapping): boolean {
  return fewRows || isVolatile;
}

/** Null where a field is null that must not be. */
function checkedRow(columns: readonly OutputColumn[]): string {
  const nulls = columns.flatMap(({ name, nullable }) => (nullable ? [] : [isNull(name)]));
  return nulls.length === 0 ? ROW_BY_TYPE : `case when not (${nulls.join(' or ')}) then ${ROW_BY_TYPE} end`;
}

/** Unlike "is null", this is false for a row whose fields are all null. */
function isNull(column: string): string {
  return `r.${quoteIdentifier(column)} is not distinct from null`;
}

/** The same text of the JSON of the columns, null where one is that `mayBeNull` does not name: dearer to begin with. */
function joinedRow(columns: readonly OutputColumn[], mayBeNull: (column: OutputColumn) => boolean): string {
  const parts = columns.flatMap((column, at) => {
    const field = `r.${quoteIdentifier(column.name)}`;
    const key = quoteLiteral(`${at === 0 ? '{' : ','}${JSON.stringify(column.name)}:`);
    return [key, mayBeNull(column) ? `coalesce(${field}, 'null')` : field];
  });
  return joined([...parts, quoteLiteral('}')]);
}

/** One text of several, nested by halves: the server limits how deep calls may be nested. Null where one is. */
function joined(parts: readonly string[]): string {
  if (parts.length < 2) return parts.join('');
  const middle = Math.ceil(parts.length / 2);
  return `pg_catalog.textcat(${joined(parts.slice(0, middle))}, ${joined(parts.slice(middle))})`;
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
  // Whether a backslash escapes in plain quotes is a setting of the server.
  const escaped = text.replaceAll("'", "''").replaceAll('\\', '\\\\');
  return `${escaped.includes('\\') ? 'e' : ''}'${escaped}'::pg_catalog.text`;
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
