/** How many bytes more than in the end a row may have for each FLOAT in it. */
export const FLOAT_BYTES = 32;
/** A control character is nowhere else in JSON text. */
// oxlint-disable-next-line no-control-regex
const FLOAT = /\u0001([^\u0001]*)\u0001/g;
/** That many digits tell every FLOAT from every other one. */
const MOST_DIGITS = 9;

/** The JSON text of a row with the shortest decimal for each FLOAT, which it has as DOUBLE between control characters. */
export function writeFloats(row: Buffer): Buffer {
  // A character of Latin-1 for each byte, whatever the bytes mean.
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
