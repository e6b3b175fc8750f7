import type { Capability } from '../../../capabilities/model.ts';
import type { Fault } from '../../../capabilities/fault.ts';
import { constantKey, PURE_FUNCTIONS, type KeyClause } from '../../sql/constant-keys.ts';
import { negativeCount, negativeParams } from '../../sql/row-counts.ts';
import type { ReadStatement } from './statement/read-statement.ts';
import { readableStatements } from './statement/readable-statements.ts';
import { castParameter, isNode, namesIn, walk } from './statement/tree.ts';

const ROW_COUNTS = new Set(['limitCount', 'limitOffset']);

/** The parameters by which callers can make LIMIT, OFFSET or FETCH FIRST negative, which fails. */
export async function rowCountWarnings(capabilities: readonly Capability[]): Promise<readonly Fault[]> {
  const warnings: Fault[] = [];
  const suspects = capabilities.filter(
    (capability) => /limit|offset|fetch/i.test(capability.sql) && negativeParams(capability).length > 0,
  );
  for await (const { capability, read } of readableStatements(suspects)) {
    const numbers = new Set<number>();
    walk(read.inspected.tree, (key, child) => {
      if (ROW_COUNTS.has(key)) collectNumbers(child, numbers);
    });
    const names = new Set([...numbers].map((number) => read.template.params[number - 1]?.name));
    const found = negativeParams(capability).filter(({ name }) => names.has(name));
    warnings.push(...found.map((param) => negativeCount(capability, param)));
  }
  return warnings;
}

/** The names of the parameters that are a LIMIT, an OFFSET or a FETCH FIRST by themselves. */
export function countingParams({ inspected, template }: ReadStatement): ReadonlySet<string> {
  const names = new Set<string>();
  walk(inspected.tree, (key, child) => {
    const number = ROW_COUNTS.has(key) ? castParameter(child) : undefined;
    const name = template.params[(number ?? 0) - 1]?.name;
    if (name !== undefined) names.add(name);
  });
  return names;
}

/** Not those in GREATEST or another function, which may keep them from being negative, or in a subselect. */
function collectNumbers(value: unknown, numbers: Set<number>): void {
  walk(value, (key, child) => {
    if (key === 'ParamRef' && isNode(child)) numbers.add(Number(child['number']));
    const isGreatest = key === 'MinMaxExpr' && isNode(child) && child['op'] === 'IS_GREATEST';
    return key !== 'FuncCall' && key !== 'SubLink' && !isGreatest;
  });
}

/** Fields of the tree that hold keys. DISTINCT without ON holds none. */
const CLAUSES: ReadonlyMap<string, KeyClause> = new Map([
  ['SortBy', 'ORDER BY'],
  ['groupClause', 'GROUP BY'],
  ['partitionClause', 'PARTITION BY'],
  ['distinctClause', 'DISTINCT ON'],
]);

/** One for each parameter that is a key, alone or with constants, and for each clause. */
export async function constantKeyWarnings(capabilities: readonly Capability[]): Promise<readonly Fault[]> {
  const warnings = new Map<string, Fault>();
  const suspects = capabilities.filter(({ sql }) => mayHaveOne(sql));
  for await (const { capability, read } of readableStatements(suspects)) {
    walk(read.inspected.tree, (field, child) => {
      const clause = CLAUSES.get(field);
      if (clause === undefined) return;
      for (const key of Array.isArray(child) ? child : [child]) {
        for (const number of numbersIn(key) ?? []) {
          const name = read.template.params[number - 1]?.name ?? '';
          warnings.set(`${capability.name} ${clause} ${name}`, constantKey(capability, name, clause));
        }
      }
    });
  }
  return [...warnings.values()];
}

/** Whether a parameter follows a BY or an ON. Other statements are not parsed again, which takes its time. */
function mayHaveOne(sql: string): boolean {
  const [, ...lists] = sql.split(/\b(?:by|on)\b/i);
  return lists.some((list) =>
    /(?<!:):[a-z_]/i.test(list.split(/\b(?:limit|offset|fetch|where)\b/i)[0] ?? ''),
  );
}

/** The parameters of a key that reads no column and runs nothing that could give each row another value; else undefined. */
function numbersIn(key: unknown): ReadonlySet<number> | undefined {
  const numbers = new Set<number>();
  let isConstant = true;
  walk(key, (field, child) => {
    if (field === 'ParamRef' && isNode(child)) numbers.add(Number(child['number']));
    if (field === 'ColumnRef' || field === 'SubLink') isConstant = false;
    if (field === 'FuncCall' && isNode(child))
      isConstant &&= PURE_FUNCTIONS.has(namesIn(child['funcname']).at(-1) ?? '');
  });
  return isConstant ? numbers : undefined;
}
