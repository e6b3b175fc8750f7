import type { Capability, SortTerm } from '../../../capabilities/model.ts';
import type { VerificationFault } from '../../driver/errors.ts';
import type { PageTerm } from '../page-condition.ts';
import type { Part } from '../parts.ts';
import { QUERY_NAME } from '../statement-source.ts';

/** How a cursor keeps the values of a column. */
export interface KeptColumn {
  /** Of the column, as it belongs to the cursor: another type has another order. */
  readonly type: string;
  /** The value with that index among the parameters, as the column is compared with it. */
  value(param: number): readonly Part[];
  /** The column in a condition, if it is not its name alone. */
  readonly column?: string;
}

/** No cursor keeps the type of the column, but of one that is cast to that type. */
export interface UnkeptColumn {
  readonly castTo: string;
}

export interface OrderLanguage {
  readonly quote: (name: string) => string;
  nullsFirst(term: SortTerm): boolean;
  /** What stands after a term, with a space before it. */
  written(term: SortTerm): string;
  /** Whether the order of nulls may be chosen. */
  readonly choosesNulls: boolean;
  /** Whether an index can give rows in an order. */
  readonly hasOrderedIndexes: boolean;
}

export interface PageOrder {
  readonly name: string;
  readonly orderBy: string;
  readonly fields: readonly string[];
  /** Their values are the parameters from `firstValue` on. */
  readonly pageTerms: (firstValue: number) => readonly PageTerm[];
  /** Fields, directions and types. */
  readonly terms: string;
}

type PageOrders =
  | { readonly ok: true; readonly orders: readonly PageOrder[] }
  | { readonly ok: false; readonly faults: readonly VerificationFault[] };

/** The orders of a capability, or what is wrong with them. */
export function pageOrders(
  capability: Capability,
  language: OrderLanguage,
  keep: (field: string) => KeptColumn | UnkeptColumn,
): PageOrders {
  const { clauses = { orders: [], hasPages: false } } = capability;
  const faults: VerificationFault[] = [];
  const orders = clauses.orders.map(({ name, terms, position }): PageOrder => {
    const path = `capabilities.${capability.name}.${name === '' ? 'paging' : `sort.${name}`}`;
    const fault = (message: string): unknown => faults.push({ path, position, message });
    const kept = terms.map((term) => {
      const { field, nulls } = term;
      const found = keep(field);
      const column = 'castTo' in found ? undefined : found;
      if ('castTo' in found && clauses.hasPages)
        fault(
          `names \`${field}\`, whose type no cursor keeps: cast it in \`sql\`, as in cast(${field} as ${found.castTo}) as ${field}, or remove it`,
        );
      if (nulls !== undefined && !language.choosesNulls)
        fault(
          `has \`nulls ${nulls}\`, which this database does not take: it has nulls first in ascending and last in descending order`,
        );
      return { ...term, column };
    });
    return {
      name,
      orderBy: kept.map((term) => nameOf(term, language) + language.written(term)).join(', '),
      fields: kept.map(({ field }) => field),
      pageTerms: (firstValue) =>
        kept.map((term, at) => ({
          column: term.column?.column ?? nameOf(term, language),
          isDescending: term.isDescending,
          nullsFirst: language.nullsFirst(term),
          mayBeNull: capability.result.find(({ name: each }) => each === term.field)?.nullable !== false,
          value: term.column?.value(firstValue + at) ?? [],
        })),
      terms: JSON.stringify(
        kept.map(({ field, isDescending, nulls, column }) => [field, isDescending, nulls, column?.type]),
      ),
    };
  });
  return faults.length > 0 ? { ok: false, faults } : { ok: true, orders };
}

function nameOf({ field }: SortTerm, { quote }: OrderLanguage): string {
  return `${QUERY_NAME}.${quote(field)}`;
}
