import { nearest } from '@svc/edge';
import type { JsonObject } from '../model/json-object.ts';
import type { Place } from './problem.ts';

/** Safe to compare and to log. */
const TEXT = /^[^\p{Cc}\p{Cs}]{1,1024}$/u;
const TEXT_ACCEPTED = 'a text of 1 to 1,024 characters, none of them a control character';

/** What `value` may be, as a text or a pattern to compare with, and in words. */
export interface TextRule {
  readonly test: (text: string) => boolean;
  readonly accepted: string;
}

export const ANY_TEXT: TextRule = { test: (text) => TEXT.test(text), accepted: TEXT_ACCEPTED };

/** RFC 6749: what stands between the spaces of a token's `scope`. */
export const ONE_SCOPE: TextRule = {
  test: (text) => /^[\x21\x23-\x5b\x5d-\x7e]{1,1024}$/.test(text),
  accepted: 'one scope, without spaces, quotes and backslashes',
};

export function readText(value: unknown, place: Place, rule: TextRule = ANY_TEXT): string {
  if (typeof value === 'string' && rule.test(value)) return value;
  place.fault(`is ${value === undefined ? 'missing' : 'not accepted'}; accepted: ${rule.accepted}`);
  return '';
}

export function readTexts(
  value: unknown,
  place: Place,
  range: { readonly least: number; readonly most: number },
  rule: TextRule = ANY_TEXT,
): readonly string[] {
  const items = readList(value, place, range);
  return items.map((item, index) => readText(item, place.at(index), rule));
}

export function readList(
  value: unknown,
  place: Place,
  { least, most }: { readonly least: number; readonly most: number },
): readonly unknown[] {
  if (Array.isArray(value) && value.length >= least && value.length <= most) return value;
  const accepted = least === 0 ? `at most ${most}` : `${least} to ${most}`;
  const problem = Array.isArray(value) ? `has ${value.length} entries` : 'is not a list';
  place.fault(`${problem}; accepted: a list of ${accepted}`);
  return [];
}

export function readBoolean(value: unknown, place: Place, usual: boolean): boolean {
  if (value === undefined) return usual;
  if (typeof value !== 'boolean') place.fault('is not accepted; accepted: true or false');
  return value === true;
}

/** Without this, a misspelt field would be a rule that has no effect. */
export function refuseUnknownFields(object: JsonObject, known: readonly string[], place: Place): void {
  for (const field of Object.keys(object)) {
    if (known.includes(field)) continue;
    place.at(field).fault(`is not a field that is known; did you mean ${nearest(field, known)}?`);
  }
}
