import {
  CLOSE_BRACE,
  CLOSE_BRACKET,
  COMMA,
  endOfScalar,
  endOfString,
  OPEN_BRACE,
  OPEN_BRACKET,
  QUOTE,
  skipBlanks,
} from './scan-json.ts';
import { JSON_DEPTH_MAX, JsonError, parseStrictJson } from './strict-json.ts';

/** What is parsed or printed between two slices: some milliseconds, whatever it holds. */
const PIECE_BYTES = 32_768;

const MEMBERS_MAX = 100_000;

const COLON = 0x3a;

/**
 * Containers that are longer than a piece, so that they are printed in pieces as well, with their keys: to ask an object
 * for half a million keys takes a quarter of a second.
 */
const long = new WeakMap<object, readonly string[]>();

interface Parsed {
  readonly value: unknown;
  /** The first byte after it. */
  readonly end: number;
}

/**
 * As `parseStrictJson`, in slices (see `inSlices`). Containers that fit no piece are read member by member; an object may
 * have `MEMBERS_MAX` of them, since much of what is done with an object takes all of its keys at once.
 */
export function* parseStrictJsonInSlices(bytes: Uint8Array): Generator<void, unknown> {
  if (bytes.length <= PIECE_BYTES) return parseStrictJson(bytes);
  const { value, end } = yield* parseValue(bytes, skipBlanks(bytes, 0), JSON_DEPTH_MAX);
  if (skipBlanks(bytes, end) < bytes.length) throw malformed();
  return value;
}

/** `depthMax`: levels that the value may have. */
function* parseValue(bytes: Uint8Array, at: number, depthMax: number): Generator<void, Parsed> {
  const opening = bytes[at];
  if (opening !== OPEN_BRACE && opening !== OPEN_BRACKET) {
    const end = opening === QUOTE ? endOfString(bytes, at) : endOfScalar(bytes, at);
    return { value: parseStrictJson(bytes.subarray(at, end), depthMax), end };
  }
  if (depthMax === 0) throw new JsonError('too many levels of nesting');
  const isObject = opening === OPEN_BRACE;
  const items: unknown[] = [];
  const members: Record<string, unknown> = {};
  const container = isObject ? members : items;
  const keys: string[] = [];
  long.set(container, keys);

  function addMember(key: string, value: unknown): void {
    if (Object.hasOwn(members, key)) throw new JsonError('a key appears twice in one object');
    members[key] = value;
    if (keys.push(key) > MEMBERS_MAX) throw new JsonError(`an object has more than ${MEMBERS_MAX} members`);
  }

  /** Whole members, with the commas between them. */
  function addPiece(from: number, to: number): void {
    if (skipBlanks(bytes, from) === to) throw malformed();
    const piece = new Uint8Array(to - from + 2);
    piece[0] = opening ?? 0;
    piece.set(bytes.subarray(from, to), 1);
    piece[piece.length - 1] = isObject ? CLOSE_BRACE : CLOSE_BRACKET;
    const parsed: unknown = parseStrictJson(piece, depthMax);
    if (Array.isArray(parsed)) for (const item of parsed) items.push(item);
    else for (const [key, value] of Object.entries(Object(parsed))) addMember(key, value);
  }

  /** A member that is longer than a piece; returns where it ends. */
  function* addLong(from: number): Generator<void, number> {
    let start = skipBlanks(bytes, from);
    if (!isObject) {
      const { value, end } = yield* parseValue(bytes, start, depthMax - 1);
      items.push(value);
      return end;
    }
    const keyEnd = endOfString(bytes, start);
    const key = parseStrictJson(bytes.subarray(start, keyEnd));
    if (typeof key !== 'string') throw malformed();
    if (key === '__proto__') throw new JsonError('a key is not allowed');
    start = skipBlanks(bytes, keyEnd);
    if (bytes[start] !== COLON) throw malformed();
    const { value, end } = yield* parseValue(bytes, skipBlanks(bytes, start + 1), depthMax - 1);
    addMember(key, value);
    return end;
  }

  let from = at + 1;
  let isFirst = true;
  let lastComma = -1;
  let depth = 0;
  /** Whether the member before `from` is in the container already, so that a comma or the end follows. */
  let isAfterLong = false;
  for (let next = from; next < bytes.length;) {
    const byte = bytes[next];
    if (byte === QUOTE) next = endOfString(bytes, next);
    else {
      next++;
      if (byte === OPEN_BRACE || byte === OPEN_BRACKET) depth++;
      else if (byte === CLOSE_BRACE || byte === CLOSE_BRACKET) depth--;
      else if (byte === COMMA && depth === 0) {
        if (isAfterLong) {
          if (skipBlanks(bytes, from) !== next - 1) throw malformed();
          isAfterLong = false;
          from = next;
        } else lastComma = next - 1;
      }
    }
    if (depth < 0) {
      const closing = next - 1;
      if (bytes[closing] !== (isObject ? CLOSE_BRACE : CLOSE_BRACKET)) throw malformed();
      const isBlank = skipBlanks(bytes, from) >= closing;
      if (isAfterLong ? !isBlank : isBlank && !isFirst) throw malformed();
      if (!isBlank) addPiece(from, closing);
      return { value: container, end: next };
    }
    if (next - from <= PIECE_BYTES) continue;
    yield;
    const start = skipBlanks(bytes, from);
    if (start > from) {
      from = start;
      next = Math.max(next, start);
      continue;
    }
    if (isAfterLong) throw malformed();
    isFirst = false;
    if (lastComma >= from) {
      addPiece(from, lastComma);
      from = lastComma + 1;
      continue;
    }
    from = yield* addLong(from);
    next = from;
    depth = 0;
    isAfterLong = true;
  }
  throw malformed();
}

function malformed(): JsonError {
  return new JsonError('not one JSON value');
}

/**
 * Prints as JSON.stringify does, in slices. `levels` of containers are printed member by member; below, only those that
 * were long when they were parsed.
 */
export function* printJsonInSlices(
  value: unknown,
  levels: number,
  onPiece: (text: string) => void,
): Generator<void, void> {
  let text = '';

  function isWhole(node: unknown, left: number): boolean {
    return typeof node !== 'object' || node === null || (left <= 0 && !long.has(node));
  }

  function* print(node: unknown, left: number): Generator<void, void> {
    if (typeof node !== 'object' || node === null || isWhole(node, left)) text += JSON.stringify(node);
    else if (Array.isArray(node)) yield* printItems(node, left - 1);
    else yield* printMembers(node, left - 1);
    if (text.length >= PIECE_BYTES) yield* pass();
  }

  function* printItems(items: readonly unknown[], left: number): Generator<void, void> {
    text += '[';
    for (let at = 0; at < items.length; at++) {
      if (at > 0) text += ',';
      // Without a generator for each of millions.
      if (isWhole(items[at], left) && text.length < PIECE_BYTES) text += JSON.stringify(items[at]);
      else yield* print(items[at], left);
    }
    text += ']';
  }

  function* printMembers(node: object, left: number): Generator<void, void> {
    let separator = '{';
    for (const key of keysOf(node)) {
      const member: unknown = Reflect.get(node, key);
      if (member === undefined) continue;
      text += `${separator}${JSON.stringify(key)}:`;
      separator = ',';
      if (isWhole(member, left) && text.length < PIECE_BYTES) text += JSON.stringify(member);
      else yield* print(member, left);
    }
    text += separator === '{' ? '{}' : '}';
  }

  function* pass(): Generator<void, void> {
    onPiece(text);
    text = '';
    yield;
  }

  yield* print(value, levels);
  if (text !== '') onPiece(text);
}

/** In the order of the object, where keys that are numbers come first. */
function keysOf(node: object): readonly string[] {
  const known = long.get(node);
  return known === undefined || known.some((key) => /^\d/.test(key)) ? Object.keys(node) : known;
}
