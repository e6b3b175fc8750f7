import { sign } from 'node:crypto';
import { createKeyPair } from './key-pair.ts';

/** An issuer without a server: its keys are a text, for a file. */
export interface TokenIssuer {
  readonly jwks: string;
  /** An access token for `audience`, good for five minutes; `claims` come on top, and undefined ones are left out. */
  token(claims: Readonly<Record<string, unknown>>): string;
}

export function createTokenIssuer(issuer: string, audience: string, kid = 'k1'): TokenIssuer {
  const { publicKey, privateKey } = createKeyPair();
  const header = encode({ alg: 'EdDSA', typ: 'at+jwt', kid });
  return {
    jwks: JSON.stringify({ keys: [{ ...publicKey.export({ format: 'jwk' }), kid, use: 'sig' }] }),
    token(claims) {
      const now = Math.floor(Date.now() / 1000);
      const times = { iat: now, exp: now + 300 };
      const signed = `${header}.${encode({ iss: issuer, aud: audience, ...times, ...claims })}`;
      return `${signed}.${sign(null, Buffer.from(signed), privateKey).toString('base64url')}`;
    },
  };
}

function encode(value: unknown): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url');
}
