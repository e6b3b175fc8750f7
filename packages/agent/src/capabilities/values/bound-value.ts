import { rawItems } from '@svc/protocol';
import type { ParamSchema } from '../model.ts';
import { exactNumber } from './exact-number.ts';
import { mayHoldLongNumber } from './written-number.ts';

/**
 * A checked value in the form in which drivers get it, which JSON carries unchanged: what `JSON.parse` makes of it, but a
 * number that a double does not keep is the text of its digits, and an object with such a number is its JSON text.
 * `written` is the JSON text of the value; absent if it has no such number.
 */
export function boundValue(schema: ParamSchema, value: unknown, written?: string): unknown {
  const { type, items } = schema;
  if (type === 'integer' || type === 'number')
    return typeof value === 'number' ? exactNumber(type, value, written ?? String(value)) : value;
  if (type === 'object') return written !== undefined && mayHoldLongNumber(written) ? written : value;
  if (items === undefined || !isNumeric(items) || !Array.isArray(value)) return value;
  const texts = written === undefined ? undefined : rawItems(Buffer.from(written));
  return value.map((item: unknown, at) => boundValue(items, item, texts?.[at]?.toString()));
}

/** The JSON text of a value in that form. */
export function jsonOf(schema: ParamSchema, value: unknown): string {
  if (typeof value === 'string') return value;
  const text = JSON.stringify(value);
  // The only texts in it are the digits of numbers.
  return isNumericList(schema) ? text.replaceAll('"', '') : text;
}

/** Whether a value in that form is a list with a number as a text. */
export function hasLongItem(schema: ParamSchema, value: unknown): boolean {
  return isNumericList(schema) && Array.isArray(value) && value.some((item) => typeof item === 'string');
}

function isNumericList({ items }: ParamSchema): boolean {
  return items !== undefined && isNumeric(items);
}

function isNumeric({ type }: ParamSchema): boolean {
  return type === 'integer' || type === 'number';
}
