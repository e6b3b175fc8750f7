import type { KeyObject } from 'node:crypto';
import { createKeyPair } from '@svc/testkit';
import { SignJWT, type JWTPayload } from 'jose';

/** An issuer of tokens whose key set is a file: nothing of it runs. */
export interface TokenIssuer {
  /** JSON of its key set. */
  readonly keySet: string;
  /** A token for `subject` that lives five minutes; `claims` go before what it would have by itself, undefined leaves out. */
  mint(subject: string, claims?: Readonly<Record<string, unknown>>): Promise<string>;
}

export function createTokenIssuer(issuer: string, audience: string, kid = 'k1'): TokenIssuer {
  const { publicKey, privateKey } = createKeyPair('ES256');
  const jwk = { ...publicKey.export({ format: 'jwk' }), kid, alg: 'ES256', use: 'sig' };
  return {
    keySet: JSON.stringify({ keys: [jwk] }),
    mint: (subject, claims = {}) =>
      sign(privateKey, kid, { iss: issuer, aud: audience, sub: subject, ...claims }),
  };
}

function sign(key: KeyObject, kid: string, claims: Readonly<Record<string, unknown>>): Promise<string> {
  const now = Math.floor(Date.now() / 1000);
  const payload: JWTPayload = { iat: now, exp: now + 300, jti: `jti-${Math.random()}`, ...claims };
  return new SignJWT(payload).setProtectedHeader({ alg: 'ES256', kid, typ: 'at+jwt' }).sign(key);
}
