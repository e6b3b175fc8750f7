import { JsonError, parseStrictJson } from '@svc/protocol';
import { jsonFaultOffset } from './json-position.ts';
import { bad, good, type Parsed } from './parsed.ts';

const KEPT_QUOTE_HINT =
  'it begins with a quote, which a shell takes away and other readers, like docker --env-file, keep: ' +
  'leave the quotes out there';

/** What is said of a text that is no JSON. */
interface JsonHints {
  /** Like `a JSON array of records`. */
  readonly accepted: string;
  /** How to write the value where a shell reads it; undefined for a file, which no shell reads. */
  readonly shellHint: string | undefined;
}

/**
 * Reads a setting that is a JSON array of records. Problems give the place and nothing of the text around it, which may be
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

/** The same for any JSON. */
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
