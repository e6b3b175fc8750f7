/** A decimal number: `sign` times `0.digits` times ten to the power of `point`. */
export interface Decimal {
  readonly sign: -1 | 0 | 1;
  /** Neither the first nor the last is a zero; none for zero itself. */
  readonly digits: string;
  readonly point: number;
}

const NUMBER = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/;
const ZERO: Decimal = { sign: 0, digits: '', point: 0 };

/** Reads a number of JSON or JavaScript. Takes time proportional to the length of the text, whatever its exponent is. */
export function readDecimal(text: string): Decimal {
  const [, minus, whole = '', fraction = '', exponent = '0'] = NUMBER.exec(text) ?? [];
  const all = whole + fraction;
  let from = 0;
  while (all[from] === '0') from++;
  let to = all.length;
  while (to > from && all[to - 1] === '0') to--;
  if (from === to) return ZERO;
  const point = whole.length - from + Number(exponent);
  return { sign: minus === '-' ? -1 : 1, digits: all.slice(from, to), point };
}

export function compareDecimals(a: Decimal, b: Decimal): number {
  if (a.sign !== b.sign) return a.sign - b.sign;
  if (a.point !== b.point) return a.point < b.point ? -a.sign : a.sign;
  if (a.digits === b.digits) return 0;
  // As fractions of one, digits are in the order of their texts.
  return a.digits < b.digits ? -a.sign : a.sign;
}

/** All its digits; undefined if it has a fraction. Callers bound `point`, and so the length of the text. */
export function integerText({ sign, digits, point }: Decimal): string | undefined {
  if (sign === 0) return '0';
  if (point < digits.length) return undefined;
  return `${sign < 0 ? '-' : ''}${digits.padEnd(point, '0')}`;
}

/**
 * Whether a number is a multiple of a step as the two are written in decimal: 0.3 is a multiple of 0.1,
 * though the quotient of the binary fractions is not whole. Both must be within the range of a double.
 */
export function isDecimalMultiple(value: Decimal, step: Decimal): boolean {
  const places = Math.max(step.digits.length - step.point, 0);
  // A value with more places than the step is no multiple, and may have very many.
  if (value.digits.length - value.point > places) return false;
  return scaled(value, places) % scaled(step, places) === 0n;
}

function scaled({ digits, point }: Decimal, places: number): bigint {
  return BigInt(digits) * 10n ** BigInt(point + places - digits.length);
}
