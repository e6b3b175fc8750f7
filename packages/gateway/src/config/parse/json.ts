import { nearest } from '@svc/edge';
import { JsonError, parseStrictJson } from '@svc/protocol';
import { jsonFaultOffset } from './json-position.ts';
import { bad, good, quoted, type Parsed } from './parsed.ts';

const KEPT_QUOTE_HINT =
  'it begins with a quote, which a shell takes away and other readers, like docker --env-file, keep: ' +
  'leave the quotes out there';

/** Parts of the problem of a text that is not JSON. */
interface JsonHints {
  /** Like `a JSON array of records`. */
  readonly accepted: string;
  /** How to write the value if a shell reads it; undefined for a file, which no shell reads. */
  readonly shellHint: string | undefined;
}

/**
 * Reads a setting that is a JSON array of records. Problems name the place but do not show the text there, which may be
 * part of a hash. `record` is the form of a record.
 */
export function parseJsonArray(
  text: string,
  { record, shellHint }: { readonly record: string; readonly shellHint: string | undefined },
): Parsed<readonly unknown[]> {
  const json = parseJsonText(text, { accepted: 'a JSON array of records', shellHint });
  if (!json.ok) return json;
  return Array.isArray(json.value)
    ? good(json.value)
    : bad(`is not a JSON array; accepted: [${record}, ...]`);
}

/** Like `parseJsonArray`, for any JSON. */
export function parseJsonText(text: string, { accepted, shellHint }: JsonHints): Parsed<unknown> {
  try {
    return good(parseStrictJson(Buffer.from(text)));
  } catch (error) {
    if (!(error instanceof JsonError)) throw error;
    const place = where(text);
    if (place === undefined) {
      return bad(`is refused: ${error.message}; accepted: ${accepted} with each field once`);
    }
    const fault = `is not JSON ${place}; accepted: ${accepted}`;
    if (shellHint === undefined) return bad(fault);
    return bad(`${fault}; ${/^['"`]/.test(text) ? KEPT_QUOTE_HINT : shellHint}`);
  }
}

function where(text: string): string | undefined {
  const offset = jsonFaultOffset(text);
  if (offset === undefined) return undefined;
  return offset === text.length
    ? `since it ends too early, after character ${text.length}`
    : `at character ${offset + 1} of ${text.length}`;
}

export function isJsonObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export function isJsonArray(value: unknown): value is readonly unknown[] {
  return Array.isArray(value);
}

/** A problem for each field of an object that is not one of `known`. */
export function unknownFields(value: object, known: readonly string[]): string[] {
  return Object.keys(value)
    .filter((field) => !known.includes(field))
    .map((field) => `unknown field ${quoted(field)}; did you mean ${nearest(field, known)}?`);
}

/** The name by which its operator knows a record, such as ` ("reports")`; empty if it has no valid name. */
export function labelOf(record: unknown, field: string, isName: (name: string) => boolean): string {
  const name = isJsonObject(record) ? record[field] : undefined;
  return typeof name === 'string' && isName(name) ? ` (${quoted(name)})` : '';
}

/** Problems of values that occur twice, each with the place of the value. `describe` returns none for places that may share it. */
export function repeatsAmong<Place>(
  values: Iterable<readonly [value: unknown, place: Place]>,
  describe: (value: string, place: Place, earlier: Place) => string | undefined,
): readonly string[] {
  const first = new Map<string, Place>();
  const problems: string[] = [];
  for (const [value, place] of values) {
    if (typeof value !== 'string') continue;
    const earlier = first.get(value);
    const problem = earlier === undefined ? undefined : describe(value, place, earlier);
    if (earlier === undefined) first.set(value, place);
    if (problem !== undefined) problems.push(problem);
  }
  return problems;
}
