import { parseSync } from 'libpg-query';
import type { CapabilityLimits } from '../../../capabilities/model.ts';
import { fewLimit, type ResultForm, type Statements } from '../execute/prepared-query.ts';
import { quoteIdentifier } from '../dialect/quote-identifier.ts';
import { RELEASE_LOCKS } from '../connection/transaction-settings.ts';
import type { Converted } from './types/convert-column.ts';
import { LruMap } from '../../clauses/lru-map.ts';
import { inside, isNode, isSameTree, listIn, type TreeNode } from './statement/tree.ts';
import { attribution } from '../execute/transaction.ts';

export interface OutputColumn extends Converted {
  readonly name: string;
  /** If not, a null among the rows given is reported. */
  readonly nullable: boolean;
}

export interface Wrapping {
  readonly capability: string;
  /** Whether the user's statement has anything volatile. */
  readonly isVolatile: boolean;
  /** In the order of the fields of a row. */
  readonly columns: readonly OutputColumn[];
  readonly limits: Pick<CapabilityLimits, 'maxRows' | 'maxBytes'>;
  /** False if the database's own encoding counts other bytes than the ones sent. */
  readonly utf8: boolean;
  /** Whether the account may give back locks that functions took. */
  readonly unlocks: boolean;
  /** Whether so few rows are expected that the time to plan counts. */
  readonly fewRows: boolean;
  /** Whether the statement is assembled, so that the next call may have many rows. */
  readonly isAssembled?: true;
  /** What callers continue by; absent without pages. */
  readonly border?: readonly BorderField[];
}

/** A field of an order, of which the form `prefix` gives the value in the last row. */
export interface BorderField {
  readonly name: string;
  /** A text that the type takes for the same value whatever the settings of the session are. */
  readonly toText: (value: string) => string;
}

/** Named with its schema: another operator of that name might stand earlier on the search path. */
const AT_MOST = 'operator(pg_catalog.<=)';
/** If the user's statement is a subselect: how many subselects lie around it. */
const DEPTH = { few: 4, whole: 4, prefix: 5 };
/** The most memory of the server that the rows of a `whole` result may take. */
const WHOLE_MAX_BYTES = 67_108_864;

/**
 * Puts the SQL around the user's statement that makes the answer in the database. What is over a cap never
 * leaves the database. Rows come as JSON in the user's order, those of `whole` and `prefix` joined by commas.
 *
 * - `few`: a row for each of the first rows, see `fewLimit`: its JSON, or null when it is longer than its share of the cap or
 *   has a null that must not be. The last row has an empty text, if locks are given back.
 * - `whole`: (number of rows; the rows, or null when they are too many, too long together, one is too long to be gathered
 *   or has a null that must not be, or there are none).
 * - `prefix`: (number of rows given, whether some were left out, whether one alone is over the cap, the rows, the name of a
 *   field that is null and must not be). The rows are as many of the first as fit. Counting as it goes takes the server a
 *   third longer. The last column is there only if a field must not be null, or if there are pages: then come whether the
 *   first row that is left out is equal to the last one given in all that the rows are ordered by, and the texts of the
 *   values of the last one.
 *
 * For `select id, title from film` with `max_rows: 100` and `max_bytes: 65536`, where `id` must not be null, this is sent
 * as `few` (the test of this file compares; here without the words `pg_catalog` and `operator`):
 *
 *     with q as (
 *     select id, title from film
 *     ) select case when octet_length(x.j) <= 5956 then x.j end
 *     from (select case when not (r."id" is not distinct from null) then row_to_json(r.*)::text end as j
 *       from (select q."id" as "id", q."title" as "title" from (select * from q offset 0) q) r limit 11) x
 *     union all select concat(pg_advisory_unlock_all())
 *
 * this as `whole`:
 *
 *     with q as (
 *     select id, title from film
 *     ) select concat(count(*), pg_advisory_unlock_all()),
 *      case when count(*) <= 100
 *        and count(*) = count(*) filter (where octet_length(x.j) <= 65536)
 *        and octet_length(string_agg(x.j, ',') filter (where octet_length(x.j) <= 65536)) + 2 <= 65536
 *        then string_agg(x.j, ',') filter (where octet_length(x.j) <= 65536) end
 *     from (select case when not (r."id" is not distinct from null) then row_to_json(r.*)::text end as j
 *       from (select q."id" as "id", q."title" as "title" from (select * from q offset 0) q) r limit 101) x
 *
 * and this as `prefix`:
 *
 *     with q as (
 *     select id, title from film
 *     ) select concat(count(*) filter (where y.n <= 100 and y.total <= 65536), pg_advisory_unlock_all()),
 *      coalesce(bool_or(not (y.n <= 100 and y.total <= 65536)), false),
 *      coalesce(bool_or(y.n <= 100 and (y.total - y.size) <= 65536 and y.size >= 65536), false),
 *      string_agg(y.j, ',') filter (where y.n <= 100 and y.total <= 65536),
 *      min(y.missing) filter (where y.n <= 100 and y.total <= 65536)
 *     from (select x.*, octet_length(x.j) + 1 as size, row_number() over w as n,
 *         sum(octet_length(x.j) + 1) over w + 1 as total
 *       from (select row_to_json(r.*)::text as j,
 *           case when r."id" is not distinct from null then 'id'::text end as missing
 *         from (select q."id" as "id", q."title" as "title" from (select * from q offset 0) q offset 0) r limit 101) x
 *       window w as (rows unbounded preceding)) y
 */
export function wrapSelect(select: string, wrapping: Wrapping, form: ResultForm): string {
  const { capability, isVolatile } = wrapping;
  // The offset keeps the planner from merging the user's statement, which would compute each column several times.
  const source = `(select * from ${isVolatile ? `(\n${select}\n) q` : 'q'} offset 0) q`;
  const around = { few, whole, prefix }[form](source, wrapping);
  // Administrators see the first kilobyte of a running statement: the capability's name and its author's SQL stand there.
  // The planner merges a WITH query that is used once, but of a volatile one it would store all rows.
  return `${attribution(capability)}${isVolatile ? '' : `with q as (\n${select}\n) `}${around}`;
}

function few(source: string, wrapping: Wrapping): string {
  const { columns, limits, unlocks } = wrapping;
  const most = fewLimit(limits);
  // So many rows of this length, with commas and brackets, are as long as the answer may be.
  const rowMax = Math.floor((limits.maxBytes - 1) / most) - 1;
  const rows = `select case when ${lengthOf(wrapping)} ${AT_MOST} ${rowMax} then x.j end
from (select ${checkedRow(columns)} as j from (select ${fieldsOf(columns, true)} from ${source}) r limit ${most}) x`;
  // What finds that there is no further row may take locks, too.
  return unlocks ? `${rows} union all select pg_catalog.concat(${RELEASE_LOCKS})` : rows;
}

function whole(source: string, wrapping: Wrapping): string {
  const { columns, utf8 } = wrapping;
  const { maxRows, maxBytes } = wrapping.limits;
  const byType = isByType(wrapping);
  const row = byType ? checkedRow(columns) : joinedRow(columns, ({ nullable }) => nullable);
  // Rows of any length, gathered before their lengths are known, could take the server any amount of memory.
  const rowMax = Math.min(maxBytes, Math.floor(WHOLE_MAX_BYTES / (maxRows + 1)));
  const gathered = `filter (where ${lengthOf(wrapping)} ${AT_MOST} ${rowMax})`;
  const rows = `pg_catalog.string_agg(x.j, ',') ${gathered}`;
  // The 2 and the 1 are the brackets: in the sum over all rows the closing one takes the place of the last comma.
  const total = utf8
    ? `pg_catalog.octet_length(${rows}) operator(pg_catalog.+) 2`
    : `pg_catalog.sum(${lengthOf(wrapping)}) operator(pg_catalog.+) pg_catalog.count(*) operator(pg_catalog.+) 1`;
  const fits = `pg_catalog.count(*) ${AT_MOST} ${maxRows} and pg_catalog.count(*) operator(pg_catalog.=) pg_catalog.count(*) ${gathered} and ${total} ${AT_MOST} ${maxBytes}`;
  // The limit also keeps the planner from building each row's JSON several times.
  return `select ${counting('count(*)', wrapping)},
 case when ${fits} then ${rows} end
from (select ${row} as j from (select ${fieldsOf(columns, byType)} from ${source}) r limit ${maxRows + 1}) x`;
}

function prefix(source: string, wrapping: Wrapping): string {
  const { columns } = wrapping;
  const { maxRows, maxBytes } = wrapping.limits;
  const { border = [] } = wrapping;
  // The values of the border stand beside the fields, and must not get into the row.
  const byType = border.length === 0 && isByType(wrapping);
  const row = byType ? ROW_BY_TYPE : joinedRow(columns, () => true);
  const nulls = columns.flatMap(({ name, nullable }) =>
    nullable ? [] : [`when ${isNull(name)} then ${quoteLiteral(name)}`],
  );
  const none = border.length === 0 ? '' : ', null::pg_catalog.text as missing';
  const missing = nulls.length === 0 ? none : `, case ${nulls.join(' ')} end as missing`;
  const size = `${lengthOf(wrapping)} operator(pg_catalog.+) 1`;
  // `size` is a row with the comma or bracket that follows it; `total` is the array up to there. A row that alone is too
  // long differs from a row that comes too late: what went before it would fit.
  const fits = `y.n ${AT_MOST} ${maxRows} and y.total ${AT_MOST} ${maxBytes}`;
  const alone = `y.n ${AT_MOST} ${maxRows} and (y.total operator(pg_catalog.-) y.size) ${AT_MOST} ${maxBytes} and y.size operator(pg_catalog.>=) ${maxBytes}`;
  const edge = `filter (where y.n operator(pg_catalog.>) 1 and not (${fits}) and y.n operator(pg_catalog.-) 1 ${AT_MOST} ${maxRows} and (y.total operator(pg_catalog.-) y.size) ${AT_MOST} ${maxBytes})`;
  const isTie = border.map(
    (_, at) => `(y.k${at} operator(pg_catalog.=) y.p${at} or y.k${at} is null and y.p${at} is null)`,
  );
  const last = border.map(({ toText }, at) => `pg_catalog.min(${toText(`y.p${at}`)}) ${edge}`);
  const borders =
    border.length === 0 ? '' : `, pg_catalog.bool_or(${isTie.join(' and ')}) ${edge}, ${last.join(', ')}`;
  const before = border.map((_, at) => `, pg_catalog.lag(x.k${at}) over w as p${at}`).join('');
  const kept = border.map((_, at) => `, r."${at}" as k${at}`).join('');
  const ordered = border.map(({ name }, at) => `, q.${quoteIdentifier(name)} as "${at}"`).join('');
  // The offset and the limit also keep the planner from building JSON several times.
  return `select ${counting(`count(*) filter (where ${fits})`, wrapping)},
 coalesce(pg_catalog.bool_or(not (${fits})), false),
 coalesce(pg_catalog.bool_or(${alone}), false),
 pg_catalog.string_agg(y.j, ',') filter (where ${fits})${missing === '' ? '' : `, pg_catalog.min(y.missing) filter (where ${fits})`}${borders}
from (select x.*${before}, ${size} as size, pg_catalog.row_number() over w as n, pg_catalog.sum(${size}) over w operator(pg_catalog.+) 1 as total
from (select ${row} as j${missing}${kept} from (select ${fieldsOf(columns, byType)}${ordered} from ${source} offset 0) r limit ${maxRows + 1}) x
window w as (rows unbounded preceding)) y`;
}

function fieldsOf(columns: readonly OutputColumn[], byType: boolean): string {
  return columns
    .map((column) => `${byType ? column.value : column.json} as ${quoteIdentifier(column.name)}`)
    .join(', ');
}

/** The JSON of a row, for which the server looks up the type of every column. `r` alone would be a field of that name. */
const ROW_BY_TYPE = 'pg_catalog.row_to_json(r.*)::pg_catalog.text';

/** This form is shorter, too: a volatile statement, which stands behind it, has to begin in the first kilobyte. */
function isByType({ fewRows, isVolatile, isAssembled }: Wrapping): boolean {
  return (fewRows && isAssembled !== true) || isVolatile;
}

function checkedRow(columns: readonly OutputColumn[]): string {
  const nulls = columns.flatMap(({ name, nullable }) => (nullable ? [] : [isNull(name)]));
  return nulls.length === 0 ? ROW_BY_TYPE : `case when not (${nulls.join(' or ')}) then ${ROW_BY_TYPE} end`;
}

/** Unlike "is null", this is false for a row whose fields are all null. */
function isNull(column: string): string {
  return `r.${quoteIdentifier(column)} is not distinct from null`;
}

/** The same text, made of the JSON of each column. It is null if a column is that `mayBeNull` does not name. It takes longer to plan. */
function joinedRow(columns: readonly OutputColumn[], mayBeNull: (column: OutputColumn) => boolean): string {
  const parts = columns.flatMap((column, at) => {
    const field = `r.${quoteIdentifier(column.name)}`;
    const key = quoteLiteral(`${at === 0 ? '{' : ','}${JSON.stringify(column.name)}:`);
    return [key, mayBeNull(column) ? `coalesce(${field}, 'null')` : field];
  });
  return joined([...parts, quoteLiteral('}')]);
}

/** One text of several, null if one is. Nested by halves, since the server limits how deep calls may be nested. */
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
  // In the outermost row it is computed last. Behind a pooler it also runs on the connection that holds the locks.
  return unlocks ? `pg_catalog.concat(pg_catalog.${count}, ${RELEASE_LOCKS})` : `pg_catalog.${count}`;
}

function quoteLiteral(text: string): string {
  // Whether a backslash escapes in plain quotes is a setting of the server.
  const escaped = text.replaceAll("'", "''").replaceAll('\\', '\\\\');
  return `${escaped.includes('\\') ? 'e' : ''}'${escaped}'::pg_catalog.text`;
}

/** Undefined if the user's statement reaches out of its place in one of them. The parser must have been loaded. */
export function statementsAround(select: string, tree: TreeNode, wrapping: Wrapping): Statements | undefined {
  const { fewRows, limits } = wrapping;
  const few = fewRows && limits.maxRows >= 2 ? { few: wrapSelect(select, wrapping, 'few') } : {};
  const whole = wrapSelect(select, wrapping, 'whole');
  const prefix = wrapSelect(select, wrapping, 'prefix');
  const isExact =
    (few.few === undefined || wrapsExactly(few.few, tree, wrapping, 'few')) &&
    wrapsExactly(whole, tree, wrapping, 'whole') &&
    wrapsExactly(prefix, tree, wrapping, 'prefix');
  return isExact ? { ...few, whole, prefix } : undefined;
}

/**
 * Whether `wrapped` holds exactly `select` in the place of the subselect, and nothing of it elsewhere: the last guard
 * against a statement that reaches out of its parentheses. The parser must have been loaded.
 */
export function wrapsExactly(
  wrapped: string,
  select: TreeNode,
  wrapping: Wrapping,
  form: ResultForm,
): boolean {
  const depth = wrapping.isVolatile ? DEPTH[form] : undefined;
  const found = split(wrapped, depth);
  const expected = around(wrapSelect('select 1', wrapping, form), depth);
  return (
    found !== undefined &&
    expected !== undefined &&
    isSameTree(found.inner, select) &&
    isSameTree(found.whole, expected.whole, [found.inner, expected.inner])
  );
}

interface Split {
  readonly whole: unknown;
  readonly inner: TreeNode;
}

/** What stands around the statements of one capability, which may be many. */
const parsedAround = new LruMap<string, Split | undefined>(32);

function around(wrapped: string, depth: number | undefined): Split | undefined {
  const known = parsedAround.get(wrapped);
  const parsed = known ?? split(wrapped, depth);
  parsedAround.set(wrapped, parsed);
  return parsed;
}

/** Without a depth the user's statement is the one WITH query. */
function split(wrapped: string, depth: number | undefined): Split | undefined {
  const whole: unknown = parseSync(wrapped);
  const statements = isNode(whole) ? whole['stmts'] : undefined;
  if (!Array.isArray(statements) || statements.length !== 1) return undefined;
  const outer = inside(statements[0], 'stmt', 'SelectStmt');
  const [query] = listIn(inside(outer, 'withClause')?.['ctes']);
  const first = inside(outer, 'larg') ?? outer;
  let inner = depth === undefined ? inside(query, 'CommonTableExpr', 'ctequery', 'SelectStmt') : first;
  for (let passed = 0; passed < (depth ?? 0); passed += 1)
    inner = inside(listIn(inner?.['fromClause'])[0], 'RangeSubselect', 'subquery', 'SelectStmt');
  return inner && { whole, inner };
}
