interface Algorithm {
  readonly kty: 'RSA' | 'EC' | 'OKP';
  readonly scheme: {
    readonly name: string;
    readonly hash?: string;
    readonly saltLength?: number;
  };
}

const rsa = (bits: number): Algorithm => ({
  kty: 'RSA',
  scheme: { name: 'RSASSA-PKCS1-v1_5', hash: `SHA-${bits}` },
});
const rsaPss = (bits: number): Algorithm => ({
  kty: 'RSA',
  scheme: { name: 'RSA-PSS', hash: `SHA-${bits}`, saltLength: bits / 8 },
});
/** Its curve is the one that `jose` imports a key of this algorithm for. */
const ecdsa = (bits: number): Algorithm => ({ kty: 'EC', scheme: { name: 'ECDSA', hash: `SHA-${bits}` } });

/** No algorithm with a shared secret: anybody who can check such a signature can also make it. */
export const ALGORITHMS: ReadonlyMap<string, Algorithm> = new Map<string, Algorithm>([
  ['RS256', rsa(256)],
  ['RS384', rsa(384)],
  ['RS512', rsa(512)],
  ['PS256', rsaPss(256)],
  ['PS384', rsaPss(384)],
  ['PS512', rsaPss(512)],
  ['ES256', ecdsa(256)],
  ['ES384', ecdsa(384)],
  ['ES512', ecdsa(512)],
  ['EdDSA', { kty: 'OKP', scheme: { name: 'Ed25519' } }],
]);
