const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;
const BLANK = 0x20;
const PIECE_BYTES = 65_536;

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
      else if (byte === LINE_FEED || byte === CARRIAGE_RETURN) piece[at] = BLANK;
    }
    yield piece;
  }
}
