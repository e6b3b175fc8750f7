/** A double keeps each of 15 digits, and more in part. */
const MOST_KEPT = 15;
const LONG = /[\d.]{16}|[eE]-\d{3}/;
const ZERO = 0x30;
const NINE = 0x39;
const POINT = 0x2e;

/**
 * Whether a JSON text may hold a number that a double does not keep as it is written: with more than 15 digits, or close
 * to zero. Without reading each character of the many texts that hold none.
 */
export function mayHoldLongNumber(text: string): boolean {
  // So many digits in a row reach over one of these places.
  for (let at = MOST_KEPT; at < text.length; at += MOST_KEPT + 1) {
    const code = text.charCodeAt(at);
    if ((code >= ZERO && code <= NINE) || code === POINT) return LONG.test(text);
  }
  return (text.includes('e-') || text.includes('E-')) && LONG.test(text);
}
