import { isRecord } from '../capabilities/is-record.ts';
import { jsonText } from '../capabilities/values/json-text.ts';

/** Names what was found: on a terminal itself, elsewhere only its kind, since rows are data and reports are kept. */
export type Show = (value: unknown) => string;

const LONGEST_SHOWN = 80;

export function showValue(value: unknown): string {
  if (value === undefined) return 'nothing';
  const text = jsonText(value);
  return text.length > LONGEST_SHOWN ? `${text.slice(0, LONGEST_SHOWN)}...` : text;
}

export function showKind(value: unknown): string {
  if (value === undefined) return 'nothing';
  if (value === null || typeof value === 'boolean') return String(value);
  if (Array.isArray(value)) return `another list, of ${value.length}`;
  if (isRecord(value)) return 'an object';
  return typeof value === 'string' ? 'another text' : 'another number';
}

/**
 * Where `found` lacks what `expected` says: an object needs the members that are expected and may have others, a list has
 * as many items as expected, each of which is compared in the same way, all else is equal.
 */
export function differences(expected: unknown, found: unknown, path: string, show: Show): readonly string[] {
  if (isRecord(expected) && isRecord(found)) {
    return Object.entries(expected).flatMap(([name, value]) => {
      const member = Object.hasOwn(found, name) ? found[name] : undefined;
      return differences(value, member, `${path}.${name}`, show);
    });
  }
  if (Array.isArray(expected) && Array.isArray(found) && expected.length === found.length) {
    return expected.flatMap((value, index) => differences(value, found[index], `${path}[${index}]`, show));
  }
  return isSame(expected, found) ? [] : [`${path}: expected ${showValue(expected)}, got ${show(found)}`];
}

/** A whole number beyond 2^53 is a BigInt on both sides, unless the file writes it with a point or an exponent. */
function isSame(expected: unknown, found: unknown): boolean {
  return expected === (typeof found === 'bigint' && typeof expected === 'number' ? Number(found) : found);
}
