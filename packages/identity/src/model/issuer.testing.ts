import { constants, sign, type KeyObject } from 'node:crypto';
import { createServer } from 'node:https';
import { once } from 'node:events';
import type { Server } from 'node:net';
import { createKeyPair } from '@svc/testkit';
import { CERTIFICATE, CERTIFICATE_KEY } from '../../../../tests/requirements/certificates.testing.ts';

export { AUTHORITY } from '../../../../tests/requirements/certificates.testing.ts';

export type Jwk = Readonly<Record<string, unknown>>;

/** A key pair of an issuer, and how it is named in the set. */
export interface SigningKey {
  readonly alg: string;
  readonly privateKey: KeyObject;
  readonly jwk: Jwk;
}

export function createSigningKey(alg: string, fields: Jwk = {}): SigningKey {
  const { privateKey, publicKey } = createKeyPair(alg);
  const jwk = { ...publicKey.export({ format: 'jwk' }), use: 'sig', alg, ...fields };
  return { alg, privateKey, jwk };
}

/** A token of any header and payload, which may be texts that are no JSON; signed as `alg` says whatever the header says. */
export function mint(key: Pick<SigningKey, 'alg' | 'privateKey'>, header: unknown, payload: unknown): string {
  const signed = `${encode(header)}.${encode(payload)}`;
  return `${signed}.${signatureOf(key, signed).toString('base64url')}`;
}

export function encode(value: unknown): string {
  return Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)).toString('base64url');
}

function signatureOf({ alg, privateKey: key }: Pick<SigningKey, 'alg' | 'privateKey'>, text: string): Buffer {
  const bytes = Buffer.from(text);
  if (alg === 'EdDSA') return sign(null, bytes, key);
  const digest = `sha${alg.slice(2)}`;
  if (alg.startsWith('ES')) return sign(digest, bytes, { key, dsaEncoding: 'ieee-p1363' });
  if (alg.startsWith('RS')) return sign(digest, bytes, key);
  const padding = constants.RSA_PKCS1_PSS_PADDING;
  return sign(digest, bytes, { key, padding, saltLength: Number(alg.slice(2)) / 8 });
}

/** What a path answers; a function is asked each time. */
interface Answer {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Buffer;
}

/** An issuer on loopback TLS for `localhost`: what its paths answer may be changed at any time. */
export interface TestIssuer {
  readonly url: string;
  readonly answers: Map<string, Answer | 'silence'>;
  /** The paths that were asked for, in order, with what was sent. */
  readonly requests: { readonly path: string; readonly headers: NodeJS.Dict<string | string[]> }[];
  /** Answers with these keys at /jwks. */
  publish(...keys: readonly SigningKey[]): void;
  asked(path: string): number;
  close(): Promise<void>;
}

export async function startTestIssuer(): Promise<TestIssuer> {
  const answers: TestIssuer['answers'] = new Map();
  const requests: TestIssuer['requests'] = [];
  const server = createServer({ cert: CERTIFICATE, key: CERTIFICATE_KEY }, (request, response) => {
    const path = request.url ?? '';
    requests.push({ path, headers: request.headers });
    const answer = answers.get(path) ?? { status: 404 };
    if (answer === 'silence') return;
    response.writeHead(answer.status ?? 200, answer.headers).end(answer.body);
  });
  server.listen(0, 'localhost');
  await once(server, 'listening');
  const url = `https://localhost:${portOf(server)}`;
  const metadata = { issuer: url, jwks_uri: `${url}/jwks` };
  answers.set('/.well-known/openid-configuration', { body: JSON.stringify(metadata) });
  return {
    url,
    answers,
    requests,
    publish(...keys) {
      answers.set('/jwks', { body: JSON.stringify({ keys: keys.map(({ jwk }) => jwk) }) });
    },
    asked: (path) => requests.filter((request) => request.path === path).length,
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

export function portOf(server: Server): number {
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('listens on no port');
  return address.port;
}
