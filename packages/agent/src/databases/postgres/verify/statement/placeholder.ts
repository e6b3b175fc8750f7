import {
  type FilledTemplate,
  fillTemplate,
  type Template,
  type WrittenPlaceholder,
} from '../../../sql/template.ts';

/** What stands in place of one reference: `($number)`, or cast `($number::type)`, or bare `$number`. */
export interface Placeholder {
  readonly number: number;
  /** SQL types, the first one first; none leaves the type to the server. */
  readonly casts: readonly string[];
  /** Leaves out parentheses and casts; such a text is only for comparison. */
  readonly bare?: true;
}

export function fillPlaceholders(template: Template, placeholders: readonly Placeholder[]): FilledTemplate {
  return fillTemplate(template, placeholders, write);
}

function write({ number, casts, bare }: Placeholder): WrittenPlaceholder {
  if (bare === true) return { text: ` $${number} `, offset: 1 };
  // The spaces keep `x:a` from becoming `x$1`, the parentheses keep the cast from taking in what follows.
  return { text: ` (${[`$${number}`, ...casts].join('::')}) `, offset: 2 };
}
