import { parseSync } from 'libpg-query';
import type { Capability, Param } from '../../../../capabilities/model.ts';
import { PLACE_OF_FILTERS, sqlParams } from '../../../../capabilities/clauses.ts';
import type { VerificationFault } from '../../../driver/errors.ts';
import { filterFault, MAY_DIFFER } from '../../../clauses/compose.ts';
import { faultAt } from '../../../sql/fault-at.ts';
import { fillTemplate } from '../../../sql/template.ts';
import { findParameters, namesOfParameters } from '../statement/named-parameters.ts';
import { isChanging } from '../functions/known-functions.ts';
import { inspectSelect, tooDeep } from '../statement/inspect.ts';
import { scan } from '../statement/scan.ts';
import {
  castParameter,
  fingerprint,
  inside,
  isNode,
  listIn,
  namesIn,
  type TreeNode,
  walk,
} from '../statement/tree.ts';

/** Stands in the place of the filters where only the statement around them is read. */
const STAND_IN = 'svc_filters_stand_here';
const ONE_CONDITION = 'must be one condition';
/** A statement that has no clause but WHERE. */
const BARE = `select 1 where true`;

/** What is wrong with the filters of a capability and their place, as far as the parser tells. It must have been loaded. */
export function clauseFaults(capability: Capability): readonly VerificationFault[] {
  const filtered = capability.params.filter(({ filter }) => filter !== undefined);
  const faults = filtered.flatMap((param) => {
    const message = problemOfFilter(param, capability);
    return message === undefined ? [] : [filterFault(capability, param, { message })];
  });
  const message = problemOfStatement(capability, filtered.length > 0);
  return message === undefined ? faults : [...faults, faultAt(capability, { message })];
}

/** The parser must read it as the same whole condition bare and in parentheses, and as nothing else. */
function problemOfFilter({ name, filter }: Param, capability: Capability): string | undefined {
  const sql = filter?.sql ?? '';
  try {
    for (const { kind, text } of scan(sql)) {
      if (kind === 'comment') return `${ONE_CONDITION}: remove the comment`;
      if (kind === 'other' && /^[;{}]$/.test(text)) return `${ONE_CONDITION}: remove ${text}`;
    }
    const used = namesOfParameters(sql);
    const declared = sqlParams(capability);
    const unknown = used.find((each) => !declared.some((param) => param.name === each));
    if (unknown !== undefined) return `uses :${unknown}, which is not declared: add it to params`;
    if (!used.includes(name)) return `${ONE_CONDITION} that uses :${name}`;
    const found = findParameters(
      sql,
      declared.filter((param) => used.includes(param.name)),
    );
    if (!found.ok) return found.faults[0]?.message;
    const { template } = found;
    const numbered = template.references.map((index) => ({ number: index + 1 }));
    const { text } = fillTemplate(template, numbered, ({ number }) => ({ text: ` ($${number}) ` }));
    const [bare, enclosed] = [onlyCondition(text), onlyCondition(`(${text})`)];
    if (bare === undefined || bare !== enclosed) return ONE_CONDITION;
    const inspected = inspectSelect(`select 1 where ${text}`);
    if (!inspected.ok) return undefined;
    const { functions, tree } = inspected.inspected;
    const changing = functions.find(({ name: each }) => isChanging(each));
    if (changing !== undefined) return `calls ${changing.name}, which ${MAY_DIFFER}`;
    return hasSample(tree) ? `reads a sample, which ${MAY_DIFFER}` : undefined;
  } catch (error) {
    return tooDeep(error)?.message ?? ONE_CONDITION;
  }
}

function hasSample(tree: TreeNode): boolean {
  let has = false;
  walk(tree, (key) => {
    has ||= key === 'RangeTableSample';
  });
  return has;
}

const RANGES = new Set(['<', '<=', '>', '>=']);

/** The column that a condition compares with a parameter; undefined if it does anything else. */
export function comparedColumn(
  filter: string,
): { readonly column: string; readonly isRange: boolean } | undefined {
  const select = selectOf(`select 1 where ${withoutParameters(filter)}`);
  const comparison = inside(select, 'whereClause', 'A_Expr');
  if (comparison?.['kind'] !== 'AEXPR_OP') return undefined;
  const sides = [comparison['lexpr'], comparison['rexpr']];
  const column = sides.map((side) => inside(side, 'ColumnRef')).find((side) => side !== undefined);
  const operator = namesIn(comparison['name']).join('.');
  const isKnown = operator === '=' || RANGES.has(operator);
  if (column === undefined || !isKnown || !sides.some((side) => castParameter(side) !== undefined))
    return undefined;
  return { column: namesIn(column['fields']).join('.'), isRange: operator !== '=' };
}

/** One text for equal conditions; undefined for what is more or less than the condition of a WHERE. */
function onlyCondition(text: string): string | undefined {
  const select = selectOf(`select 1 where ${text}`);
  const around = selectOf(BARE);
  const condition = inside(select, 'whereClause');
  const place = inside(around, 'whereClause');
  if (condition === undefined || place === undefined) return undefined;
  return fingerprint(select, condition) === fingerprint(around, place) ? fingerprint(condition) : undefined;
}

function selectOf(text: string): TreeNode | undefined {
  let parsed: unknown;
  try {
    parsed = parseSync(text);
  } catch (error) {
    if (tooDeep(error) !== undefined) throw error;
    return undefined;
  }
  const statements = isNode(parsed) ? listIn(parsed['stmts']) : [];
  return statements.length === 1 ? inside(statements[0], 'stmt', 'SelectStmt') : undefined;
}

function problemOfStatement({ sql, clauses }: Capability, hasFilters: boolean): string | undefined {
  const select = selectOf(withoutParameters(sql.replace(PLACE_OF_FILTERS, () => ` ${STAND_IN} `)));
  // What is wrong with the SQL itself is told where the whole statement is read.
  if (select === undefined) return undefined;
  if (hasFilters && (!/\bwhere\s+$/i.test(beforePlace(sql)) || !holdsPlace(select)))
    return `must have ${PLACE_OF_FILTERS} directly after \`where\`, with only \`and\` after it, in the outermost SELECT or in one in its FROM or WITH`;
  const outermost = OUTERMOST.find(([key]) => select[key] !== undefined);
  if ((clauses?.orders.length ?? 0) > 0 && outermost !== undefined)
    return `has an outermost ${outermost[1]} beside \`sort\` or \`paging\`, which order and cut the rows: remove it`;
  return undefined;
}

const OUTERMOST = [
  ['sortClause', 'ORDER BY'],
  ['limitCount', 'LIMIT'],
  ['limitOffset', 'OFFSET'],
] as const;

function beforePlace(sql: string): string {
  return sql.slice(0, sql.indexOf(PLACE_OF_FILTERS));
}

/** For a text that is only parsed. */
function withoutParameters(sql: string): string {
  const names = [...new Set(namesOfParameters(sql))];
  const declared = names.map((name) => ({
    name,
    required: false,
    schema: { type: 'string' } as const,
    position: { line: 1, column: 1 },
  }));
  const found = findParameters(sql, declared);
  if (!found.ok) return sql;
  const { template } = found;
  const numbered = template.references.map((index) => ({ number: index + 1 }));
  return fillTemplate(template, numbered, ({ number }) => ({ text: ` ($${number}) ` })).text;
}

/** Whether the stand-in is the condition of a SELECT, or the first of those joined by AND. */
function holdsPlace(select: TreeNode): boolean {
  return filterableSelects(select).some((each) => isPlace(each['whereClause']));
}

/** The SELECTs that may have the place of filters: those that see no outer query. */
export function filterableSelects(select: TreeNode): readonly TreeNode[] {
  const queries = listIn(inside(select, 'withClause')?.['ctes'])
    .map((each) => inside(each, 'CommonTableExpr', 'ctequery', 'SelectStmt'))
    .filter((query) => query !== undefined);
  const sources = listIn(select['fromClause']).flatMap(subselectsOf);
  return [select, ...[...queries, ...sources].flatMap(filterableSelects)];
}

function isPlace(condition: unknown): boolean {
  const all = inside(condition, 'BoolExpr');
  const first = all?.['boolop'] === 'AND_EXPR' ? listIn(all['args'])[0] : condition;
  const fields = listIn(inside(first, 'ColumnRef')?.['fields']);
  return fields.length === 1 && inside(fields[0], 'String')?.['sval'] === STAND_IN;
}

/** A LATERAL one sees the others. */
function subselectsOf(source: TreeNode): readonly TreeNode[] {
  const join = inside(source, 'JoinExpr');
  if (join !== undefined)
    return [join['larg'], join['rarg']].flatMap((side) => (isNode(side) ? subselectsOf(side) : []));
  const subselect = inside(source, 'RangeSubselect');
  const query = subselect?.['lateral'] === true ? undefined : inside(subselect, 'subquery', 'SelectStmt');
  return query === undefined ? [] : [query];
}
