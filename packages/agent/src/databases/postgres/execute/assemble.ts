import { joinFilters, numbered, type NumberedText, type Part } from '../../clauses/parts.ts';
import type { AssembledForms, ResultForm } from './prepared-query.ts';

/** Joins verified parts; undefined if there is no statement of that form. `chosen` are the indices of filters. */
export function assemble(
  statements: AssembledForms | undefined,
  form: ResultForm,
  chosen: readonly number[],
  page?: readonly Part[],
): NumberedText | undefined {
  const text = statements?.forms[form];
  if (statements === undefined || text === undefined) return undefined;
  const { before, between, after } = text;
  if ((page === undefined) !== (after === undefined)) return undefined;
  const filters =
    statements.filters.length === 0
      ? []
      : joinFilters(chosen.map((index) => statements.filters[index] ?? []));
  return numbered([...before, ...filters, ...between, ...(page ?? []), ...(after ?? [])]);
}
