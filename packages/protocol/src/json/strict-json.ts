import { BACKSLASH, QUOTE } from './scan-json.ts';

/** Why a text is refused; the message never quotes the text. */
export class JsonError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'JsonError';
  }
}

/** Deeper values overflow the stack of whoever prints them again. */
export const JSON_DEPTH_MAX = 32;

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/**
 * Parses one JSON value so that every later reader sees the same: UTF-8 without byte order mark,
 * no key twice in an object (however it is escaped), no `__proto__`, no number beyond a double,
 * at most `depthMax` levels. Throws JsonError.
 */
export function parseStrictJson(bytes: Uint8Array, depthMax: number = JSON_DEPTH_MAX): unknown {
  return readStrictJson(bytes, depthMax).value;
}

/** As `parseStrictJson`, with the text that was parsed: in it numbers have the digits that a double does not keep. */
export function readStrictJson(
  bytes: Uint8Array,
  depthMax: number = JSON_DEPTH_MAX,
): { readonly value: unknown; readonly text: string } {
  const text = decode(bytes);
  const value = parse(text);
  // JSON.parse keeps one of two equal keys, so the text then has more colons than the value has keys.
  if (countColons(text) !== countKeys(value, depthMax))
    throw new JsonError('a key appears twice in one object');
  return { value, text };
}

function decode(bytes: Uint8Array): string {
  let text: string;
  try {
    text = utf8.decode(bytes);
  } catch {
    throw new JsonError('not UTF-8');
  }
  if (text.startsWith('\ufeff')) throw new JsonError('begins with a byte order mark');
  return text;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new JsonError('not one JSON value');
  }
}

/** Of all objects in `node`. Throws JsonError. */
function countKeys(node: unknown, depthMax: number, depth = 1): number {
  if (typeof node === 'number') {
    if (!Number.isFinite(node)) throw new JsonError('a number is too large');
    return 0;
  }
  if (!isObject(node)) return 0;
  if (depth > depthMax) throw new JsonError(`more than ${depthMax} levels of nesting`);
  let keys = 0;
  if (Array.isArray(node)) {
    for (const item of node) keys += countKeys(item, depthMax, depth + 1);
    return keys;
  }
  // Without the pairs of Object.entries, which take longer to make than all else here.
  for (const key of Object.keys(node)) {
    if (key === '__proto__') throw new JsonError('a key is not allowed');
    keys += 1 + countKeys(node[key], depthMax, depth + 1);
  }
  return keys;
}

function isObject(node: unknown): node is Readonly<Record<string, unknown>> {
  return typeof node === 'object' && node !== null;
}

const COLON = 0x3a;

/** Colons outside strings, in a text that is known to be JSON. */
function countColons(text: string): number {
  let colons = 0;
  let inString = false;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) inString = !inString;
    else if (inString && code === BACKSLASH) at++;
    else if (!inString && code === COLON) colons++;
  }
  return colons;
}
