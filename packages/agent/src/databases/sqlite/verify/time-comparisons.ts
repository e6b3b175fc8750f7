import type { Capability } from '../../../capabilities/model.ts';
import type { Fault } from '../../../capabilities/fault.ts';
import { betweenBefore } from '../../sql/places/comparisons.ts';
import { closingAfter, openingBefore } from '../../sql/places/tokens.ts';
import type { SqlToken } from '../../sql/scanner.ts';

const COMPARISON = /^(?:==?|<|<=|>|>=|<>|!=)$/;
const CLAUSE = /^(?:where|and|or|not|on|when|having|select)$/i;
const ADVICE = {
  date: (name: string) => `date(x) >= :${name}`,
  datetime: (name: string) => `datetime(x, 'subsec') >= datetime(:${name}, 'subsec')`,
} as const;

/**
 * SQLite has no type of times: a column holds texts of any form, or numbers, and a parameter is compared with them as the
 * text that it is. Only what SQLite's own function makes of a column is known to have its form.
 */
export function timeComparisons(
  { name: capability, params }: Capability,
  body: readonly SqlToken[],
): readonly Fault[] {
  return params.flatMap(({ name, schema: { type }, position }) => {
    if (type !== 'date' && type !== 'datetime') return [];
    const isParam = ({ kind, text }: SqlToken): boolean => kind === 'parameter' && text === `:${name}`;
    const isDoubtful = body.some((token, at) => isParam(token) && isComparedAsText(body, at, type));
    const form = type === 'date' ? 'YYYY-MM-DD' : 'YYYY-MM-DD hh:mm:ss in UTC';
    const message = `is compared as a text, which is right only with texts of the form ${form}: for other values of a column x write ${ADVICE[type](name)}`;
    return isDoubtful ? [{ path: `capabilities.${capability}.params.${name}`, position, message }] : [];
  });
}

/** Whether the parameter there is compared with something that may have another form. */
function isComparedAsText(body: readonly SqlToken[], at: number, type: 'date' | 'datetime'): boolean {
  const left = leftOperand(body, at);
  const right = comparisonFrom(body, at + 1);
  const others = [...(left === undefined ? [] : [left]), ...(right === undefined ? [] : [right])];
  return others.some((index) => !hasForm(body, index, type));
}

/** The last token of the left operand if the parameter there is the right side of a comparison. */
function leftOperand(body: readonly SqlToken[], at: number): number | undefined {
  const word = (index: number): string =>
    body[index]?.kind === 'word' ? body[index].text.toLowerCase() : '';
  const behindNot = (index: number): number => (word(index) === 'not' ? index - 1 : index);
  const operator = comparisonBefore(body, at - 1);
  if (operator !== undefined) return operator;
  if (word(at - 1) === 'between') return behindNot(at - 2);
  if (word(at - 1) === 'is' || (word(at - 1) === 'not' && word(at - 2) === 'is')) {
    return word(at - 1) === 'is' ? at - 2 : at - 3;
  }
  if (word(at - 1) === 'and') {
    const between = betweenBefore(body, at - 2);
    return between === undefined ? undefined : behindNot(between - 1);
  }
  const opening = openingBefore(body, at);
  if (opening < 0) return undefined;
  if (word(opening - 1) === 'in') return behindNot(opening - 2);
  return tupleElement(body, opening, at);
}

/** The element of `(a, b) > (:a, :b)` to which the parameter is compared. */
function tupleElement(body: readonly SqlToken[], opening: number, at: number): number | undefined {
  const closing = comparisonBefore(body, opening - 1);
  if (closing === undefined || body[closing]?.text !== ')') return undefined;
  const start = openingBefore(body, closing);
  const before = body[start - 1];
  if (start < 0 || (before?.kind === 'word' && !CLAUSE.test(before.text))) return undefined;
  const commas = (from: number, to: number): readonly number[] =>
    body.flatMap((token, index) => {
      const isOwn = index > from && index < to && token.kind === 'operator' && token.text === ',';
      return isOwn && openingBefore(body, index) === from ? [index] : [];
    });
  const ends = [...commas(start, closing), closing];
  const end = ends[commas(opening, at).length];
  return end === undefined ? undefined : end - 1;
}

/** The last token of the operand before the comparison operator that ends there. */
function comparisonBefore(body: readonly SqlToken[], end: number): number | undefined {
  let start = end;
  while (/^[<>=!]$/.test(body[start - 1]?.text ?? '') && body[start - 1]?.end === body[start]?.start)
    start -= 1;
  const text = body.slice(start, end + 1).map((token) => token.text);
  return COMPARISON.test(text.join('')) ? start - 1 : undefined;
}

/** The last token of the operand after the comparison operator that begins there. */
function comparisonFrom(body: readonly SqlToken[], from: number): number | undefined {
  let end = from;
  while (/^[<>=!]$/.test(body[end]?.text ?? '')) end += 1;
  const operator = body.slice(from, end).map(({ text }) => text);
  if (!COMPARISON.test(operator.join(''))) return undefined;
  while (body[end + 1]?.text === '.') end += 2;
  return body[end + 1]?.text === '(' ? closingAfter(body, end + 1) : end;
}

/** Whether the operand that ends there is a parameter, a literal, or the function that writes this form. */
function hasForm(body: readonly SqlToken[], last: number, type: 'date' | 'datetime'): boolean {
  const token = body[last];
  if (token?.kind === 'parameter' || token?.kind === 'text') return true;
  if (token?.kind === 'word' && token.text.toLowerCase() === 'null') return true;
  if (token?.text !== ')') return false;
  const opening = openingBefore(body, last);
  return opening >= 0 && body[opening - 1]?.text.toLowerCase() === type;
}
