export const QUOTE = 0x22;
export const COMMA = 0x2c;
export const BACKSLASH = 0x5c;
export const OPEN_BRACKET = 0x5b;
export const CLOSE_BRACKET = 0x5d;
export const OPEN_BRACE = 0x7b;
export const CLOSE_BRACE = 0x7d;
export const LINE_FEED = 0x0a;
export const CARRIAGE_RETURN = 0x0d;
export const SPACE = 0x20;
const TAB = 0x09;

// These find their way through bytes that are JSON. Of other bytes they return some place, at most the end.

export function isBlank(byte: number): boolean {
  // Nearly every byte that is asked for is none, which one comparison tells.
  return byte <= SPACE && (byte === SPACE || byte === LINE_FEED || byte === CARRIAGE_RETURN || byte === TAB);
}

export function skipBlanks(bytes: Uint8Array, from: number): number {
  let at = from;
  while (isBlank(bytes[at] ?? COMMA)) at++;
  return at;
}

/** `from` is the opening quote; the end is after the closing one. */
export function endOfString(bytes: Uint8Array, from: number): number {
  let at = from + 1;
  for (; at < bytes.length && bytes[at] !== QUOTE; at++) if (bytes[at] === BACKSLASH) at++;
  return Math.min(at + 1, bytes.length);
}

/** Of a number, `true`, `false` or `null`. */
export function endOfScalar(bytes: Uint8Array, from: number): number {
  let at = from;
  for (; at < bytes.length; at++) {
    const byte = bytes[at] ?? COMMA;
    if (byte === COMMA || byte === CLOSE_BRACE || byte === CLOSE_BRACKET || isBlank(byte)) break;
  }
  return at;
}

export function endOfValue(bytes: Uint8Array, from: number): number {
  let depth = 0;
  let at = from;
  while (at < bytes.length) {
    const byte = bytes[at];
    if (byte === QUOTE) at = endOfString(bytes, at);
    else if (byte === OPEN_BRACE || byte === OPEN_BRACKET) {
      depth++;
      at++;
    } else if (depth === 0) return endOfScalar(bytes, at);
    else {
      if (byte === CLOSE_BRACE || byte === CLOSE_BRACKET) depth--;
      at++;
    }
    if (depth === 0) return at;
  }
  return bytes.length;
}
