import type { Capability, SortTerm } from '../../capabilities/model.ts';
import type { ClauseAdvice } from '../driver/driver.ts';

/** Orders of pages that begin with a field whose nulls come last: no bound of an index is where a page begins. */
export function nullableSorts(
  capabilities: readonly Capability[],
  nullsFirst: (term: SortTerm) => boolean,
): readonly ClauseAdvice[] {
  return capabilities.flatMap(({ name, clauses, result }) => {
    if (clauses?.hasPages !== true) return [];
    return clauses.orders.flatMap(({ name: order, terms: [first] }): readonly ClauseAdvice[] => {
      const field = result.find((each) => each.name === first?.field);
      if (first === undefined || nullsFirst(first) || field?.nullable === false) return [];
      return [{ kind: 'nullable_sort', capability: name, order, field: first.field }];
    });
  });
}
