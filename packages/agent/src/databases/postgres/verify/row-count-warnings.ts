import { loadModule } from 'libpg-query';
import type { Capability } from '../../../capabilities/model.ts';
import type { Fault } from '../../../capabilities/fault.ts';
import { negativeCount, negativeParams } from '../../sql/row-counts.ts';
import { readStatement, type ReadStatement } from './statement/read-statement.ts';
import { inside, isNode, walk } from './statement/tree.ts';

const ROW_COUNTS = new Set(['limitCount', 'limitOffset']);

/** The parameters by which callers can make LIMIT, OFFSET or FETCH FIRST negative, which is an error at each such call. */
export async function rowCountWarnings(capabilities: readonly Capability[]): Promise<readonly Fault[]> {
  await loadModule();
  return capabilities.flatMap((capability) => {
    const suspects = negativeParams(capability);
    // Without this every statement would be parsed again, which takes its time.
    if (suspects.length === 0 || !/limit|offset|fetch/i.test(capability.sql)) return [];
    const result = readStatement(capability);
    if (!result.ok) return [];
    const { inspected, template } = result.read;
    const numbers = new Set<number>();
    walk(inspected.tree, (key, child) => {
      if (ROW_COUNTS.has(key)) collectNumbers(child, numbers);
    });
    const names = new Set([...numbers].map((number) => template.params[number - 1]?.name));
    return suspects.filter(({ name }) => names.has(name)).map((param) => negativeCount(capability, param));
  });
}

/** The names of the parameters that are a LIMIT, an OFFSET or a FETCH FIRST by themselves. */
export function countingParams({ inspected, template }: ReadStatement): ReadonlySet<string> {
  const names = new Set<string>();
  walk(inspected.tree, (key, child) => {
    let node = ROW_COUNTS.has(key) ? child : undefined;
    while (isNode(node) && isNode(node['TypeCast'])) node = node['TypeCast']['arg'];
    const number = inside(node, 'ParamRef')?.['number'];
    const name = template.params[Number(number) - 1]?.name;
    if (name !== undefined) names.add(name);
  });
  return names;
}

/** Without those in GREATEST or another function, which may keep them from being negative, and those of a subselect. */
function collectNumbers(value: unknown, numbers: Set<number>): void {
  if (Array.isArray(value)) {
    for (const item of value) collectNumbers(item, numbers);
  } else if (isNode(value)) {
    for (const [key, child] of Object.entries(value)) {
      if (key === 'FuncCall' || key === 'SubLink') continue;
      if (key === 'MinMaxExpr' && isNode(child) && child['op'] === 'IS_GREATEST') continue;
      if (key === 'ParamRef' && isNode(child)) numbers.add(Number(child['number']));
      else collectNumbers(child, numbers);
    }
  }
}
