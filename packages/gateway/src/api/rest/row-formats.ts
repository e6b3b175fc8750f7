import {
  BACKSLASH,
  CARRIAGE_RETURN,
  CLOSE_BRACE,
  CLOSE_BRACKET,
  COMMA,
  endOfString,
  endOfValue,
  LINE_FEED,
  OPEN_BRACE,
  OPEN_BRACKET,
  QUOTE,
  skipBlanks,
  SPACE,
} from '@svc/protocol/scan-json';

const LETTER_N = 0x6e;
const LETTER_U = 0x75;
const FIRST_OF_TWO_BYTES = 0x80;
const REPLACEMENT = 0xfffd;
/** The meaning of the letter after a backslash, except `u`. */
const ESCAPES: ReadonlyMap<number | undefined, number> = new Map(
  Object.entries({ b: 8, t: 9, n: LINE_FEED, f: 12, r: CARRIAGE_RETURN }).map(([letter, code]) => [
    letter.charCodeAt(0),
    code,
  ]),
);
const PIECE_BYTES = 65_536;
/** The most that is written between two checks of the length of a piece. */
const PIECE_MARGIN = 16;

/**
 * A JSON array of objects as CSV (RFC 4180), in pieces: a line of the names of the first, then a line for each. Null is an
 * empty field (`""` in a single column), objects and lists are their JSON. `names` are used when there is no row.
 * Bytes that are no such array also give some text, and are never read beyond their end.
 */
export function* csvLines(array: Buffer, names: readonly string[]): Generator<Uint8Array, void, undefined> {
  let piece = Buffer.allocUnsafe(PIECE_BYTES + PIECE_MARGIN);
  let used = 0;

  function take(): Uint8Array {
    const taken = piece.subarray(0, used);
    piece = Buffer.allocUnsafe(PIECE_BYTES + PIECE_MARGIN);
    used = 0;
    return taken;
  }

  function writeByte(byte: number): void {
    if (byte === QUOTE) piece[used++] = QUOTE;
    piece[used++] = byte;
  }

  /** Writes what there is room for, and returns where it stopped. A text is the inside of a JSON string. */
  function write(bytes: Buffer, from: number, to: number, isText: boolean): number {
    let at = from;
    while (at < to && used < PIECE_BYTES) {
      const byte = bytes[at] ?? 0;
      if (isText && byte === BACKSLASH) {
        const { code, end } = readEscape(bytes, at);
        if (code < FIRST_OF_TWO_BYTES) writeByte(code);
        else used += piece.write(String.fromCodePoint(code), used);
        at = end;
      } else {
        writeByte(byte);
        at++;
      }
    }
    return at;
  }

  function* line(bytes: Buffer, values: Spans): Generator<Uint8Array, void, undefined> {
    // Readers skip an empty line, and would lose a row.
    const isOneColumn = values.length === 2;
    for (let place = 0; place < values.length; place += 2) {
      if (used >= PIECE_BYTES) yield take();
      if (place > 0) piece[used++] = COMMA;
      const [from, to] = [values[place] ?? 0, values[place + 1] ?? 0];
      const isNull = from === to || bytes[from] === LETTER_N;
      if (isNull && isOneColumn) {
        piece[used++] = QUOTE;
        piece[used++] = QUOTE;
      }
      if (isNull) continue;
      const isText = bytes[from] === QUOTE;
      const [begin, end] = isText ? [from + 1, to - 1] : [from, to];
      const inQuotes = begin >= end || needsQuotes(bytes, begin, end, isText);
      if (inQuotes) piece[used++] = QUOTE;
      for (let at = write(bytes, begin, end, isText); at < end; at = write(bytes, at, end, isText))
        yield take();
      if (inQuotes) piece[used++] = QUOTE;
    }
    piece[used++] = CARRIAGE_RETURN;
    piece[used++] = LINE_FEED;
  }

  let at = skipBlanks(array, array.indexOf(OPEN_BRACKET) + 1);
  const isEmpty = array[at] !== OPEN_BRACE;
  const first = isEmpty
    ? Buffer.from(JSON.stringify(Object.fromEntries(names.map((name) => [name, 0]))))
    : array;
  const keys: number[] = [];
  readMembers(first, isEmpty ? 0 : at, (from, to) => keys.push(from, to));
  if (keys.length > 0) yield* line(first, keys);
  const places = placesOf(first, keys);
  const values = new Int32Array(keys.length);
  while (array[at] === OPEN_BRACE) {
    let next = 0;
    values.fill(0);
    at = readMembers(array, at, (keyFrom, keyTo, from, to) => {
      const place = isKey(array, keyFrom, keyTo, keys, next)
        ? next
        : (places().get(array.toString('latin1', keyFrom, keyTo)) ?? keys.length);
      values[place] = from;
      values[place + 1] = to;
      next = place + 2;
    });
    yield* line(array, values);
    at = skipBlanks(array, at);
    if (array[at] === COMMA) at = skipBlanks(array, at + 1);
  }
  if (used > 0) yield piece.subarray(0, used);
}

/** Beginnings and ends of values, in turn; equal when there is no value. */
type Spans = ArrayLike<number>;

/** Whether the key is the one at `place` of the first row; it nearly always is. */
function isKey(bytes: Buffer, from: number, to: number, keys: Spans, place: number): boolean {
  const key = keys[place] ?? 0;
  return (keys[place + 1] ?? 0) - key === to - from && isSame(bytes, key, from, to);
}

/** The place of each key of the first row. Made on demand, since few results need it. */
function placesOf(bytes: Buffer, keys: Spans): () => ReadonlyMap<string, number> {
  let places: Map<string, number> | undefined;
  return () => {
    if (places !== undefined) return places;
    places = new Map();
    for (let place = 0; place < keys.length; place += 2)
      places.set(bytes.toString('latin1', keys[place], keys[place + 1]), place);
    return places;
  };
}

/** For short keys this is faster than the comparison of Node.js. */
function isSame(bytes: Buffer, other: number, from: number, to: number): boolean {
  for (let at = from; at < to; at++) if (bytes[at] !== bytes[other + at - from]) return false;
  return true;
}

type Visit = (keyFrom: number, keyTo: number, from: number, to: number) => void;

/** Visits each member of the object at `from`, and returns the end of the object. */
function readMembers(bytes: Buffer, from: number, visit: Visit): number {
  let at = skipBlanks(bytes, from + 1);
  while (bytes[at] === QUOTE) {
    const keyEnd = endOfString(bytes, at);
    const value = skipBlanks(bytes, skipBlanks(bytes, keyEnd) + 1);
    const end = endOfValue(bytes, value);
    visit(at, keyEnd, value, end);
    at = skipBlanks(bytes, end);
    if (bytes[at] === COMMA) at = skipBlanks(bytes, at + 1);
  }
  return at + 1;
}

function needsQuotes(bytes: Buffer, from: number, to: number, isText: boolean): boolean {
  for (let at = from; at < to; at++) {
    const byte = bytes[at];
    if (byte === undefined) return false;
    if (isText && byte === BACKSLASH) {
      const { code, end } = readEscape(bytes, at);
      if (isQuoted(code)) return true;
      at = end - 1;
    } else if (isQuoted(byte)) return true;
  }
  return false;
}

function isQuoted(character: number): boolean {
  return (
    character === QUOTE || character === COMMA || character === LINE_FEED || character === CARRIAGE_RETURN
  );
}

/** The character that the escape at `from` stands for. */
function readEscape(bytes: Buffer, from: number): { readonly code: number; readonly end: number } {
  const letter = bytes[from + 1] ?? BACKSLASH;
  if (letter !== LETTER_U) return { code: ESCAPES.get(letter) ?? letter, end: from + 2 };
  const unit = unitAt(bytes, from);
  const isHigh = unit >= 0xd800 && unit < 0xdc00;
  const low =
    isHigh && bytes[from + 6] === BACKSLASH && bytes[from + 7] === LETTER_U ? unitAt(bytes, from + 6) : 0;
  if (low >= 0xdc00 && low < 0xe000)
    return { code: 0x10000 + (unit - 0xd800) * 0x400 + low - 0xdc00, end: from + 12 };
  return { code: unit >= 0xd800 && unit < 0xe000 ? REPLACEMENT : unit, end: from + 6 };
}

function unitAt(bytes: Buffer, from: number): number {
  const unit = Number.parseInt(bytes.toString('latin1', from + 2, from + 6), 16);
  return Number.isNaN(unit) ? REPLACEMENT : unit;
}

/**
 * The items of a JSON array, unchanged, one a line: the commas between them become line feeds, and line breaks within an
 * item become blanks. Any other bytes also give some text.
 */
export function* jsonLines(array: Buffer): Generator<Uint8Array, void, undefined> {
  const begin = array.indexOf(OPEN_BRACKET) + 1;
  let depth = 0;
  let inText = false;
  let isEscaped = false;
  for (let from = begin; from < array.length; from += PIECE_BYTES) {
    const piece = Buffer.from(array.subarray(from, from + PIECE_BYTES));
    for (let at = 0; at < piece.length; at++) {
      const byte = piece[at];
      if (isEscaped) isEscaped = false;
      else if (inText) {
        if (byte === BACKSLASH) isEscaped = true;
        else if (byte === QUOTE) inText = false;
      } else if (byte === QUOTE) inText = true;
      else if (byte === OPEN_BRACE || byte === OPEN_BRACKET) depth++;
      else if (byte === CLOSE_BRACE || byte === CLOSE_BRACKET) {
        if (depth === 0) piece[at] = LINE_FEED;
        depth--;
      } else if (byte === COMMA && depth === 0) piece[at] = LINE_FEED;
      else if (byte === LINE_FEED || byte === CARRIAGE_RETURN) piece[at] = SPACE;
    }
    yield piece;
  }
}
