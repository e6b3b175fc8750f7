import {
  joinParts,
  numbered,
  type AssembledText,
  type NumberedText,
  type Part,
} from '../../clauses/parts.ts';
import type { PreparedForms, ResultForm } from './prepared-query.ts';

/** Joins verified parts; undefined if there is no statement of that form. `chosen` are the indices of filters. */
export function assemble(
  statements: PreparedForms | undefined,
  form: ResultForm,
  chosen: readonly number[],
  page?: readonly Part[],
): NumberedText | undefined {
  const text = statements?.forms[form];
  return statements === undefined || text === undefined ? undefined : join(text, statements, chosen, page);
}

/** Undefined unless a page is given to a statement that has one. */
export function join(
  text: AssembledText,
  { filters }: Pick<PreparedForms, 'filters'>,
  chosen: readonly number[],
  page?: readonly Part[],
): NumberedText | undefined {
  const parts = joinParts(text, filters, chosen, page);
  return parts && numbered(parts);
}
