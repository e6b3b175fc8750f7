import {
  BACKSLASH,
  CLOSE_BRACE,
  CLOSE_BRACKET,
  COMMA,
  endOfString,
  endOfValue,
  OPEN_BRACE,
  QUOTE,
  skipBlanks,
} from './scan-json.ts';

const BEYOND_ASCII = 0x80;

/**
 * The bytes of the value at this path of keys, as they stand in `object`; undefined when there is none. `object` must
 * have passed `parseStrictJson`: it is not checked again, and no key is there twice.
 */
export function rawMember(object: Buffer, ...path: readonly string[]): Buffer | undefined {
  let depth = 0;
  let at = skipBlanks(object, 0);
  if (object[at] !== OPEN_BRACE) return undefined;
  at = skipBlanks(object, at + 1);
  while (object[at] !== CLOSE_BRACE) {
    const keyEnd = endOfString(object, at);
    const isNext = isKey(object, at, keyEnd, path[depth] ?? '');
    const start = skipBlanks(object, skipBlanks(object, keyEnd) + 1);
    if (isNext && depth === path.length - 1) return object.subarray(start, endOfValue(object, start));
    if (isNext && object[start] === OPEN_BRACE) {
      depth++;
      at = skipBlanks(object, start + 1);
      continue;
    }
    at = skipBlanks(object, endOfValue(object, start));
    if (object[at] === COMMA) at = skipBlanks(object, at + 1);
  }
  return undefined;
}

/** The bytes of each value of an object that has passed `parseStrictJson`, by their keys; read once. */
export function rawMembers(object: Buffer): Map<string, Buffer> {
  const members = new Map<string, Buffer>();
  let at = skipBlanks(object, skipBlanks(object, 0) + 1);
  while (object[at] !== CLOSE_BRACE) {
    const keyEnd = endOfString(object, at);
    const start = skipBlanks(object, skipBlanks(object, keyEnd) + 1);
    const end = endOfValue(object, start);
    members.set(String(textOf(object, at, keyEnd)), object.subarray(start, end));
    at = skipBlanks(object, end);
    if (object[at] === COMMA) at = skipBlanks(object, at + 1);
  }
  return members;
}

/** The bytes of each item of an array that has passed `parseStrictJson`. */
export function rawItems(array: Buffer): Buffer[] {
  const items: Buffer[] = [];
  let at = skipBlanks(array, skipBlanks(array, 0) + 1);
  while (array[at] !== CLOSE_BRACKET) {
    const end = endOfValue(array, at);
    items.push(array.subarray(at, end));
    at = skipBlanks(array, end);
    if (array[at] === COMMA) at = skipBlanks(array, at + 1);
  }
  return items;
}

/** Keys may be written with escapes. */
function isKey(bytes: Buffer, start: number, end: number, key: string): boolean {
  for (let at = start + 1; ; at++) {
    const byte = bytes[at] ?? QUOTE;
    // A text for each key that is passed over would cost more than all the rest.
    if (byte >= BEYOND_ASCII || byte === BACKSLASH) return textOf(bytes, start, end) === key;
    if (byte === QUOTE) return at - start - 1 === key.length;
    if (byte !== key.charCodeAt(at - start - 1)) return false;
  }
}

function textOf(bytes: Buffer, start: number, end: number): unknown {
  return JSON.parse(bytes.toString('utf8', start, end));
}
