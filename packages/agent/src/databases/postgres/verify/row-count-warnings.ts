import type { Capability } from '../../../capabilities/model.ts';
import type { Fault } from '../../../capabilities/fault.ts';
import { negativeCount, negativeParams } from '../../sql/row-counts.ts';
import type { ReadStatement } from './statement/read-statement.ts';
import { readableStatements } from './statement/readable-statements.ts';
import { castParameter, isNode, walk } from './statement/tree.ts';

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
