import { JsonError, parseStrictJson } from '@svc/protocol';
import { jsonFaultOffset } from './json-position.ts';
import { bad, good, type Parsed } from './parsed.ts';

const KEPT_QUOTE_HINT =
  'it begins with a quote, which a shell takes away and other readers, like docker --env-file, keep: ' +
  'leave the quotes out there';

/**
 * Reads a setting that is a JSON array of records. Problems give the place and nothing of the text around it, which may be
 * part of a hash. `shellHint` says how to write the value where a shell reads it; `record` is the form of a record.
 */
export function parseJsonArray(
  text: string,
  hints: { readonly shellHint: string; readonly record: string },
): Parsed<readonly unknown[]> {
  let json: unknown;
  try {
    json = parseStrictJson(Buffer.from(text));
  } catch (error) {
    if (!(error instanceof JsonError)) throw error;
    const place = where(text);
    const hint = /^['"`]/.test(text) ? KEPT_QUOTE_HINT : hints.shellHint;
    return place === undefined
      ? bad(`is refused: ${error.message}; accepted: a JSON array of records with each field once`)
      : bad(`is not JSON ${place}; accepted: a JSON array of records; ${hint}`);
  }
  return Array.isArray(json) ? good(json) : bad(`is not a JSON array; accepted: [${hints.record}, ...]`);
}

function where(text: string): string | undefined {
  const offset = jsonFaultOffset(text);
  if (offset === undefined) return undefined;
  return offset === text.length
    ? `since it ends too early, after character ${text.length}`
    : `at character ${offset + 1} of ${text.length}`;
}
