/**
 * Whether a number is a multiple of a step as the two are written in decimal: 0.3 is a multiple of 0.1,
 * though the quotient of the binary fractions is not whole.
 */
export function isDecimalMultiple(value: number, step: number): boolean {
  const [a, b] = [toDecimal(value), toDecimal(step)];
  const places = Math.max(a.places, b.places);
  return (a.digits * 10n ** BigInt(places - a.places)) % (b.digits * 10n ** BigInt(places - b.places)) === 0n;
}

/** The number is `digits / 10^places`. */
function toDecimal(number: number): { readonly digits: bigint; readonly places: number } {
  const [mantissa = '0', exponent = '0'] = String(number).split('e');
  const [whole = '0', fraction = ''] = mantissa.split('.');
  const places = fraction.length - Number(exponent);
  const digits = BigInt(whole + fraction);
  return places >= 0 ? { digits, places } : { digits: digits * 10n ** BigInt(-places), places: 0 };
}
