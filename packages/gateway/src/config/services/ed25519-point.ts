const P = 2n ** 255n - 19n;
const D = over(-121_665n, 121_666n);

/**
 * Whether 32 bytes decode to a point of the Ed25519 curve (RFC 8032, section 5.1.3), like every public key. Half of all
 * private keys do not, which OpenSSL would only notice at the first signature.
 */
export function isEd25519Point(bytes: Uint8Array): boolean {
  if (bytes.length !== 32) return false;
  const encoded = encodedOf(bytes);
  const y = yOf(encoded);
  if (y >= P) return false;
  const xSquared = xSquaredOf(y);
  // Zero has one root, so its sign must be plus.
  if (xSquared === 0n) return encoded === y;
  return power(xSquared, (P - 1n) / 2n) === 1n;
}

/**
 * Whether a point is one of the eight whose multiples by 8 are zero. They belong to no private key, and anybody can make
 * signatures that they verify. A key of 32 zero bytes is the one with y = 0.
 */
export function hasSmallOrder(point: Uint8Array): boolean {
  let y = yOf(encodedOf(point));
  // Doubling as in RFC 8032, section 5.1.4, by y alone; zero is the one point with y = 1.
  for (let doubled = 0; doubled < 3; doubled++) {
    const xSquared = xSquaredOf(y);
    y = over(y * y + xSquared, 2n + xSquared - y * y);
  }
  return y === 1n;
}

function encodedOf(bytes: Uint8Array): bigint {
  return BigInt(`0x${Buffer.from(bytes.toReversed()).toString('hex')}`);
}

function yOf(encoded: bigint): bigint {
  return encoded & (2n ** 255n - 1n);
}

function xSquaredOf(y: bigint): bigint {
  return over(y * y - 1n, D * y * y + 1n);
}

function over(dividend: bigint, divisor: bigint): bigint {
  return mod(dividend * power(divisor, P - 2n));
}

function mod(value: bigint): bigint {
  const rest = value % P;
  return rest < 0n ? rest + P : rest;
}

function power(base: bigint, exponent: bigint): bigint {
  let result = 1n;
  let square = mod(base);
  for (let rest = exponent; rest > 0n; rest >>= 1n) {
    if ((rest & 1n) === 1n) result = mod(result * square);
    square = mod(square * square);
  }
  return result;
}
