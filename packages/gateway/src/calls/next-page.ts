import { rawMember } from '@svc/protocol';
import { BACKSLASH, QUOTE } from '@svc/protocol/scan-json';

const OPENING: ReadonlySet<number> = new Set(Buffer.from('[{'));
const CLOSING: ReadonlySet<number> = new Set(Buffer.from(']}'));
const NULL = 'null';
/** Parsing JSON that is millions of levels deep takes seconds, and no database makes such a row. */
const MAX_DEPTH = 10_000;

/**
 * The parameters that continue after the last row, as a JSON object: each has the value of the field that `paging` names.
 * Undefined when there is no row, or a value is null, which would start from the beginning.
 */
export function nextPage(rows: Uint8Array, paging: Readonly<Record<string, string>>): string | undefined {
  const last = lastItem(Buffer.from(rows.buffer, rows.byteOffset, rows.byteLength));
  if (last === undefined || !isJson(last)) return undefined;
  const members: string[] = [];
  for (const [param, field] of Object.entries(paging)) {
    const value = rawMember(last, field)?.toString() ?? NULL;
    if (value === NULL) return undefined;
    members.push(`${JSON.stringify(param)}:${value}`);
  }
  return `{${members.join(',')}}`;
}

/** A faulty agent may send something else, on which `rawMember` would not end. */
function isJson(bytes: Buffer): boolean {
  try {
    JSON.parse(bytes.toString());
    return true;
  } catch {
    return false;
  }
}

/** The last object of a JSON array, found from the end, since many may precede it. */
function lastItem(array: Buffer): Buffer | undefined {
  const end = array.lastIndexOf('}') + 1;
  let depth = 0;
  for (let at = end - 1; at > 0; at--) {
    const byte = array[at] ?? 0;
    if (byte === QUOTE) at = beginOfString(array, at);
    else if (CLOSING.has(byte)) {
      if (++depth > MAX_DEPTH) return undefined;
    } else if (OPENING.has(byte) && --depth === 0) return array.subarray(at, end);
  }
  return undefined;
}

/** `from` is the closing quote. */
function beginOfString(bytes: Buffer, from: number): number {
  for (let at = from - 1; at > 0; at--) {
    if (bytes[at] !== QUOTE) continue;
    let backslashes = 0;
    while (bytes[at - 1 - backslashes] === BACKSLASH) backslashes++;
    if (backslashes % 2 === 0) return at;
  }
  return 0;
}
