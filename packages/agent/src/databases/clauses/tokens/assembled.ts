import { pageOf, type Choices, type Chosen, type OrderChoice, type PageChoice } from '../choose.ts';
import { joinParts, numbered, type AssembledForms, type NumberedText, type Part } from '../parts.ts';

/** The statement alone, for people, and what is sent of it. Both have the same filters. */
export type StatementForm = 'statement' | 'run';

/** A finite set of statements, each made of verified parts: plain data. */
export interface AssembledStatements extends Choices<AssembledOrder> {
  /** The index of the first value of a cursor among the parameters. */
  readonly firstValue: number;
}

export interface AssembledOrder extends OrderChoice {
  readonly first: AssembledForms<StatementForm>;
  readonly pages?: PageChoice & { readonly next: AssembledForms<StatementForm> };
}

/** The parts of the statement that a call asks for. */
export function partsOf(chosen: Chosen<AssembledOrder>, form: StatementForm): readonly Part[] {
  const { order, filters, after } = chosen;
  const { forms, filters: known } =
    after === undefined || order.pages === undefined ? order.first : order.pages.next;
  const joined = joinParts(forms[form], known, filters, pageOf(chosen));
  if (joined === undefined) throw new Error('cannot assemble a statement');
  return joined;
}

/** The same as text, in which `placeholder` stands before the number of each parameter. */
export function textOf(
  chosen: Chosen<AssembledOrder>,
  form: StatementForm,
  placeholder: string,
): NumberedText {
  return numbered(partsOf(chosen, form), (number) => `${placeholder}${number}`);
}
