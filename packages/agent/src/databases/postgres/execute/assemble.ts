import {
  joinFilters,
  numbered,
  type AssembledText,
  type NumberedText,
  type Part,
} from '../../clauses/parts.ts';
import type { AssembledForms, ResultForm } from './prepared-query.ts';

/** Joins verified parts; undefined if there is no statement of that form. `chosen` are the indices of filters. */
export function assemble(
  statements: AssembledForms | undefined,
  form: ResultForm,
  chosen: readonly number[],
  page?: readonly Part[],
): NumberedText | undefined {
  const text = statements?.forms[form];
  return statements === undefined || text === undefined ? undefined : join(text, statements, chosen, page);
}

/** Undefined unless a page is given to a statement that has one. */
export function join(
  { before, between, after }: AssembledText,
  { filters }: Pick<AssembledForms, 'filters'>,
  chosen: readonly number[],
  page?: readonly Part[],
): NumberedText | undefined {
  if ((page === undefined) !== (after === undefined)) return undefined;
  const set = filters.length === 0 ? [] : joinFilters(chosen.map((index) => filters[index] ?? []));
  return numbered([...before, ...set, ...between, ...(page ?? []), ...(after ?? [])]);
}
