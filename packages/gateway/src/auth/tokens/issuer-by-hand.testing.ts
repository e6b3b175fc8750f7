import { generateKeyPairSync, sign } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** An issuer whose tokens the test signs, and whose keys are in a file. */
export interface IssuerByHand {
  readonly jwksFile: string;
  /** With a subject, the audience of `https://gateway.example` and an hour to live, unless `payload` says otherwise. */
  token(payload?: Readonly<Record<string, unknown>>, header?: Readonly<Record<string, unknown>>): string;
  close(): void;
}

export const ISSUER = 'https://idp.example';

export function issuerByHand(): IssuerByHand {
  const folder = mkdtempSync(join(tmpdir(), 'svc-tmp-issuer-'));
  const jwksFile = join(folder, 'jwks.json');
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const jwk = { ...publicKey.export({ format: 'jwk' }), kid: 'k1', alg: 'ES256', use: 'sig' };
  writeFileSync(jwksFile, JSON.stringify({ keys: [jwk] }));
  const encode = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');
  return {
    jwksFile,
    token(payload = {}, header = {}) {
      const now = Math.floor(Date.now() / 1000);
      const usual = {
        iss: ISSUER,
        sub: 'ann',
        aud: 'https://gateway.example/mcp',
        iat: now,
        exp: now + 3600,
        jti: 'token-1',
        client_id: 'app',
      };
      const signed = `${encode({ alg: 'ES256', kid: 'k1', typ: 'at+jwt', ...header })}.${encode({ ...usual, ...payload })}`;
      const signature = sign('sha256', Buffer.from(signed), { key: privateKey, dsaEncoding: 'ieee-p1363' });
      return `${signed}.${signature.toString('base64url')}`;
    },
    close: () => rmSync(folder, { recursive: true, force: true }),
  };
}
