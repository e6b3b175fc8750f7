/** A double keeps every number of 15 digits, and some longer ones. */
const LENGTH = 16;
const SMALL = /[eE]-\d{3}/;
const ZERO = 0x30;
const NINE = 0x39;
const POINT = 0x2e;

/**
 * Whether a JSON text may hold a number that a double does not keep as it is written: with more than 15 digits, or close
 * to zero. Most texts hold none: of those, one character in sixteen is read.
 */
export function mayHoldLongNumber(text: string): boolean {
  // A run of that many digits covers one of these places.
  for (let at = LENGTH - 1; at < text.length; at += LENGTH) {
    if (isOfNumber(text, at) && runLength(text, at) >= LENGTH) return true;
  }
  return (text.includes('e-') || text.includes('E-')) && SMALL.test(text);
}

/** The length of the run of digits and points around that place. */
function runLength(text: string, at: number): number {
  let from = at;
  while (isOfNumber(text, from - 1)) from--;
  let end = at + 1;
  while (isOfNumber(text, end)) end++;
  return end - from;
}

function isOfNumber(text: string, at: number): boolean {
  const code = text.charCodeAt(at);
  return (code >= ZERO && code <= NINE) || code === POINT;
}
