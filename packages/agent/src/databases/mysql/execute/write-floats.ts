/** The most bytes that each FLOAT adds to a row before `writeFloats`. */
export const FLOAT_BYTES = 32;
/** JSON text has no other control characters. */
// oxlint-disable-next-line no-control-regex
const FLOAT = /\u0001([^\u0001]*)\u0001/g;
/** Nine digits distinguish every FLOAT. */
const MOST_DIGITS = 9;

/** Writes the shortest decimal for each FLOAT, which the row has as DOUBLE between control characters. */
export function writeFloats(row: Buffer): Buffer {
  // Latin-1 has a character for each byte.
  const text = row
    .toString('latin1')
    .replaceAll(FLOAT, (_, double: string) => shortest(Math.fround(Number(double))));
  return Buffer.from(text, 'latin1');
}

function shortest(value: number): string {
  for (let digits = 1; digits < MOST_DIGITS; digits += 1) {
    const decimal = Number(value.toPrecision(digits));
    if (Math.fround(decimal) === value) return String(decimal);
  }
  return String(Number(value.toPrecision(MOST_DIGITS)));
}
