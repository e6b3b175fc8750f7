import { mayBeAbsent, mayFallAway } from '../../../../capabilities/clauses.ts';
import type { Capability } from '../../../../capabilities/model.ts';
import { nullableSorts } from '../../../clauses/nullable-sorts.ts';
import { filtersOf, plainCapabilities, plainCapability } from '../../../clauses/compose.ts';
import { QUERY_NAME } from '../../../clauses/statement-source.ts';
import type { ClauseAdvice } from '../../../driver/driver.ts';
import type { SessionPool } from '../../pool/session-pool.ts';
import { conjuncts } from '../one-row.ts';
import { explain, step } from '../plan-statement.ts';
import { readableStatements } from '../statement/readable-statements.ts';
import { castParameter, inside, isNode, listIn, walk, type TreeNode } from '../statement/tree.ts';
import { filterableSelects } from './read-clauses.ts';
import { hasNullsFirst, orderByOf } from './sort-orders.ts';

type Plan = Readonly<Record<string, unknown>>;

/** Fewer are sorted in no time. */
const MANY_ROWS = 10_000;
/** They give the rows of their first step in its order. */
const KEEPING_ORDER: ReadonlySet<unknown> = new Set([
  'Gather Merge',
  'Limit',
  'Nested Loop',
  'Result',
  'Subquery Scan',
]);

/** Parameters with a condition as in `:x is null or name = :x`, where a filter could stand. */
export async function optionalFilters(capabilities: readonly Capability[]): Promise<readonly ClauseAdvice[]> {
  const advice: ClauseAdvice[] = [];
  for await (const { capability, read } of readableStatements(plainCapabilities(capabilities))) {
    const { params } = read.template;
    const found = filterableSelects(read.inspected.tree)
      .flatMap(({ whereClause }) => conjuncts(whereClause))
      .flatMap(optionalParameters);
    for (const number of new Set(found)) {
      const param = params[number - 1];
      if (param !== undefined && mayBeAbsent(param))
        advice.push({ kind: 'optional_filter', capability: capability.name, param: param.name });
    }
  }
  return advice;
}

/** The numbers of parameters that a condition asks to be null or else uses. */
function optionalParameters(condition: TreeNode): readonly number[] {
  const or = inside(condition, 'BoolExpr');
  if (or?.['boolop'] !== 'OR_EXPR') return [];
  const args = listIn(or['args']);
  return args.flatMap((arg) => {
    const test = inside(arg, 'NullTest');
    const number = test?.['nulltesttype'] === 'IS_NULL' ? castParameter(test['arg']) : undefined;
    const isUsed = args.some((other) => other !== arg && names(other, number));
    return number !== undefined && isUsed ? [number] : [];
  });
}

function names(condition: TreeNode, number: number | undefined): boolean {
  let isNamed = false;
  walk(condition, (key, child) => {
    if (key === 'ParamRef' && isNode(child)) isNamed ||= child['number'] === number;
  });
  return isNamed;
}

/** Orders that read many rows for a page, by the plan of the first page without the filters that may fall away. */
export async function slowSorts(
  pool: SessionPool,
  capabilities: readonly Capability[],
): Promise<readonly ClauseAdvice[]> {
  const sorted = capabilities.filter(({ clauses }) => (clauses?.orders.length ?? 0) > 0);
  const byName = new Map(sorted.map((capability) => [capability.name, capability]));
  const bases = sorted.map((capability) =>
    plainCapability(
      capability,
      filtersOf(capability).filter((param) => !mayFallAway(param)),
    ),
  );
  const advice: ClauseAdvice[] = [];
  for await (const { capability: plain, read } of readableStatements(bases)) {
    const { name } = plain;
    const capability = byName.get(name);
    if (capability === undefined) continue;
    const nullable = nullableSorts([capability], hasNullsFirst);
    for (const { name: order, terms } of capability.clauses?.orders ?? []) {
      const page = `select * from (\n${read.rewritten.text}\n) ${QUERY_NAME} order by ${orderByOf(terms)} limit ${capability.limits.maxRows + 1}`;
      const planned = await step(pool, plain, explain(page, read.template.params.length, 'format json'));
      if (!planned.ok) continue;
      const [limit] = plansIn(JSON.parse(planned.output.results[2]?.rows[0]?.[0] ?? '[]'));
      const [below] = plansIn(limit?.['Plans']);
      if (below === undefined || rowsOf(below) < MANY_ROWS) continue;
      if (isSorted(below))
        advice.push({ kind: 'unindexed_sort', capability: name, order, rows: rowsOf(below) });
      advice.push(...nullable.filter((each) => 'order' in each && each.order === order));
    }
  }
  return advice;
}

/** Whether the rows of a step come from a sort of all of them. */
function isSorted(step: Plan): boolean {
  if (step['Node Type'] === 'Sort') return true;
  const [first] = plansIn(step['Plans']);
  return first !== undefined && KEEPING_ORDER.has(step['Node Type']) && isSorted(first);
}

function rowsOf(step: Plan): number {
  return Number(step['Plan Rows']);
}

/** Of the answer of EXPLAIN, or of a step. */
function plansIn(value: unknown): readonly Plan[] {
  const items: readonly unknown[] = Array.isArray(value) ? value : [];
  return items.filter(isNode).map((item) => inside(item, 'Plan') ?? item);
}
