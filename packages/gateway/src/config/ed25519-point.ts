const P = 2n ** 255n - 19n;
const D = mod(-121_665n * power(121_666n, P - 2n));

/**
 * Whether 32 bytes decode to a point of the Ed25519 curve (RFC 8032, section 5.1.3), as every public key
 * does. Half of all private keys do not, and OpenSSL would find that out at the first signature only.
 */
export function isEd25519Point(bytes: Uint8Array): boolean {
  if (bytes.length !== 32) return false;
  const encoded = BigInt(`0x${Buffer.from(bytes.toReversed()).toString('hex')}`);
  const y = encoded & (2n ** 255n - 1n);
  if (y >= P) return false;
  const xSquared = mod((y * y - 1n) * power(mod(D * y * y + 1n), P - 2n));
  // Zero has one root, so that its sign must be plus.
  if (xSquared === 0n) return encoded === y;
  return power(xSquared, (P - 1n) / 2n) === 1n;
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
