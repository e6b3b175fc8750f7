import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto';

export interface KeyPair {
  readonly privateKey: KeyObject;
  readonly publicKey: KeyObject;
}

/**
 * A key pair for `alg` of JOSE: EdDSA, ES256, ES384, ES512, else RSA of 2,048 bits. The keys are read back from PEM:
 * when the garbage collector runs while a key as it was generated is exported as JWK, Node.js waits for ever.
 */
export function createKeyPair(alg = 'EdDSA'): KeyPair {
  const privateKey = createPrivateKey(generate(alg).privateKey.export({ type: 'pkcs8', format: 'pem' }));
  return { privateKey, publicKey: createPublicKey(privateKey) };
}

function generate(alg: string): KeyPair {
  switch (alg) {
    case 'ES256':
      return generateKeyPairSync('ec', { namedCurve: 'P-256' });
    case 'ES384':
      return generateKeyPairSync('ec', { namedCurve: 'P-384' });
    case 'ES512':
      return generateKeyPairSync('ec', { namedCurve: 'P-521' });
    case 'EdDSA':
      return generateKeyPairSync('ed25519');
    default:
      return generateKeyPairSync('rsa', { modulusLength: 2048 });
  }
}
