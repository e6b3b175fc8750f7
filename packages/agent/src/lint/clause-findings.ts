import type { Capability } from '../capabilities/model.ts';
import type { ClauseAdvice } from '../databases/driver/driver.ts';
import { atOnce, findingOf, type Finding } from './finding.ts';

const optionalFilter = findingOf('optional-filter', 'advice');
const unindexedSort = findingOf('unindexed-sort', 'advice');
const nullableSort = findingOf('nullable-sort', 'advice');

type Advice<Kind extends ClauseAdvice['kind']> = Extract<ClauseAdvice, { readonly kind: Kind }>;

/** What would let the database read less at each call. */
export function clauseFindings(
  capabilities: readonly Capability[],
  advice: readonly ClauseAdvice[],
): readonly Finding[] {
  const byName = new Map(capabilities.map((capability) => [capability.name, capability]));
  const each = <Kind extends ClauseAdvice['kind']>(
    kind: Kind,
    found: (capability: Capability, advice: Advice<Kind>) => Finding,
  ): readonly Finding[] =>
    advice.flatMap((one) => {
      const capability = byName.get(one.capability);
      return capability === undefined || !isOf(one, kind) ? [] : [found(capability, one)];
    });
  return [
    ...atOnce(
      each('optional_filter', filterFinding),
      'have conditions as in `:x is null or ...`: write each as the `filter` of its parameter, and `where {filters}`',
    ),
    ...atOnce(
      each('unindexed_sort', sortFinding),
      'have orders that sort 10,000 rows and more for each page: an index on the fields, in their directions, has them in order',
    ),
    ...atOnce(
      each('nullable_sort', nullsFinding),
      'have orders in which nulls come last, so that a page reads all rows before it: sort the other way, or say `nullable: false` if the columns have no nulls',
    ),
  ];
}

function isOf<Kind extends ClauseAdvice['kind']>(advice: ClauseAdvice, kind: Kind): advice is Advice<Kind> {
  return advice.kind === kind;
}

function filterFinding(capability: Capability, { param }: Advice<'optional_filter'>): Finding {
  const position = capability.params.find(({ name }) => name === param)?.position ?? capability.position;
  const message = `has a condition as in \`:${param} is null or ...\`: write it as the \`filter\` of the parameter, and \`where {filters}\`, and it is in the statement only when it is needed`;
  return optionalFilter(capability, { path: `params.${param}`, position }, message);
}

function sortFinding(capability: Capability, { order, rows }: Advice<'unindexed_sort'>): Finding {
  const message = `sorts about ${Math.round(rows).toLocaleString('en-US')} rows for each page: an index on its fields, in their directions, has them in order`;
  return unindexedSort(capability, placeOf(capability, order), message);
}

function nullsFinding(capability: Capability, { order, field }: Advice<'nullable_sort'>): Finding {
  const message = `begins with \`${field}\`, whose nulls come last, so that a page reads all rows before it: sort it the other way, or say \`nullable: false\` if its column has no nulls`;
  return nullableSort(capability, placeOf(capability, order), message);
}

function placeOf(
  { clauses, position }: Capability,
  order: string,
): { readonly path: string; readonly position: Capability['position'] } {
  const found = clauses?.orders.find(({ name }) => name === order);
  return { path: order === '' ? 'paging' : `sort.${order}`, position: found?.position ?? position };
}
