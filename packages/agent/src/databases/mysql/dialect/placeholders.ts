import type { NumberedText, Part } from '../../clauses/parts.ts';

/**
 * The parameters in the order of their placeholders, which stand in the texts after them: a list has another than a single
 * value. `before` gives what stands before one.
 */
export function placeholders(
  parts: readonly Part[],
  before: (param: number) => string = () => '',
): NumberedText {
  const params: number[] = [];
  let text = '';
  for (const part of parts) {
    if (typeof part === 'number') params.push(part);
    text += typeof part === 'string' ? part : before(part);
  }
  return { text, params };
}
