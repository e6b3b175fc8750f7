interface Algorithm {
  readonly kty: 'RSA' | 'EC' | 'OKP';
  /** Where the kind of key alone does not decide. */
  readonly crv?: string;
  /** How WebCrypto verifies it. */
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
const ecdsa = (crv: string, bits: number): Algorithm => ({
  kty: 'EC',
  crv,
  scheme: { name: 'ECDSA', hash: `SHA-${bits}` },
});

/** Signatures that are accepted; whoever can check one with a shared secret could make it, too. */
export const ALGORITHMS: ReadonlyMap<string, Algorithm> = new Map<string, Algorithm>([
  ['RS256', rsa(256)],
  ['RS384', rsa(384)],
  ['RS512', rsa(512)],
  ['PS256', rsaPss(256)],
  ['PS384', rsaPss(384)],
  ['PS512', rsaPss(512)],
  ['ES256', ecdsa('P-256', 256)],
  ['ES384', ecdsa('P-384', 384)],
  ['ES512', ecdsa('P-521', 512)],
  ['EdDSA', { kty: 'OKP', crv: 'Ed25519', scheme: { name: 'Ed25519' } }],
]);
