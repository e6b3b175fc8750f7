import { createHmac } from 'node:crypto';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { createSigningKey, encode, mint, startTestIssuer, type TestIssuer } from '../model/issuer.testing.ts';
import { nowSeconds, openVerifier, RESOURCE, SKEW_SECONDS, type TestVerifier } from './verifier.testing.ts';

const RSA = createSigningKey('RS256', { kid: 'rsa' });
const EC = createSigningKey('ES256', { kid: 'ec' });
const ED = createSigningKey('EdDSA', { kid: 'ed' });
/** Of the other issuer, under a name that the first one uses, too. */
const OTHER_RSA = createSigningKey('RS256', { kid: 'rsa' });
const STRANGER = createSigningKey('RS256', { kid: 'stranger' });

let own: TestIssuer;
let other: TestIssuer;
let verifier: TestVerifier;
const opened: TestVerifier[] = [];

function open(...args: Parameters<typeof openVerifier>): TestVerifier {
  const verifier = openVerifier(...args);
  opened.push(verifier);
  return verifier;
}

beforeAll(async () => {
  [own, other] = await Promise.all([startTestIssuer(), startTestIssuer()]);
  own.publish(RSA, EC, ED);
  other.publish(OTHER_RSA);
  verifier = openVerifier([
    { name: 'own', issuer: own.url },
    { name: 'other', issuer: other.url },
  ]);
});
afterEach(() => {
  for (const verifier of opened.splice(0)) verifier.close();
  own.publish(RSA, EC, ED);
});
afterAll(async () => {
  verifier.close();
  await Promise.all([own.close(), other.close()]);
});

type Fields = Readonly<Record<string, unknown>>;

const claims = (fields: Fields = {}): Fields => ({
  iss: own.url,
  aud: RESOURCE,
  sub: 'user-1',
  iat: nowSeconds(),
  exp: nowSeconds() + 600,
  ...fields,
});
const rsaToken = (fields: Fields = {}, header: Fields = {}): string =>
  mint(RSA, { alg: 'RS256', kid: 'rsa', ...header }, claims(fields));
/** `{"a":1}` becomes `,"a":1` inside of the text. */
const withTwice = (object: Fields, twice: string): string =>
  `${JSON.stringify(object).slice(0, -1)},${twice}}`;
const refused = (failure: string): object => ({ kind: 'refused', failure });

describe('a token that is taken', () => {
  it.each([RSA, EC, ED])('is signed by $alg', async (key) => {
    const token = mint(key, { alg: key.alg, kid: key.jwk['kid'], typ: 'at+jwt' }, claims());
    expect(await verifier.verify(token)).toMatchObject({ kind: 'verified', subject: 'user-1' });
  });

  it.each(['RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'ES384', 'ES512'])('is signed by %s', async (alg) => {
    const key = alg.startsWith('ES') ? createSigningKey(alg) : { ...RSA, alg, jwk: { ...RSA.jwk, alg } };
    own.publish(key);
    const wide = open([{ name: 'own', issuer: own.url, algorithms: [alg] }]);
    expect(await wide.verify(mint(key, { alg }, claims()))).toMatchObject({ kind: 'verified' });
  });

  it('says who calls, and what was asked to be known of it', async () => {
    own.publish(EC);
    const verifier = open([
      {
        name: 'own',
        issuer: own.url,
        grants: [
          { capabilities: ['a'], scope: 'read' },
          { capabilities: ['b'], scope: 'write' },
          { capabilities: ['c'], claim: ['realm', 'roles'], value: 'dba' },
        ],
        claims: { org_id: 'https://a.b/org', roles: ['realm', 'roles'], absent: 'absent' },
      },
    ]);
    const fields = {
      client_id: 'client',
      azp: 'other',
      jti: 'token-1',
      scope: 'read x',
      realm: { roles: ['dba', 'x'] },
      'https://a.b/org': 'north',
      email: 'a@b',
    };
    const outcome = await verifier.verify(mint(EC, { alg: 'ES256' }, claims(fields)));
    expect(outcome).toEqual({
      kind: 'verified',
      issuer: expect.objectContaining({ name: 'own' }),
      subject: 'user-1',
      clientId: 'client',
      tokenId: 'token-1',
      issuedAt: expect.any(Number),
      expiresAt: expect.any(Number),
      claims: { org_id: 'north', roles: ['dba', 'x'] },
      claimsJson: '{"org_id":"north","roles":["dba","x"]}',
      grants: [0, 2],
    });
  });

  it.each(['AT+JWT', 'application/at+jwt', 'JWT', ''])('has the type "%s"', async (typ) => {
    expect(await verifier.verify(rsaToken({}, { typ }))).toMatchObject({ kind: 'verified' });
  });

  it.each<[string, Fields]>([
    ['one of several audiences is ours', { aud: ['https://other', RESOURCE] }],
    ['the audience has a slash behind it', { aud: `${RESOURCE}/` }],
    [
      'it has expired within the clock skew',
      { iat: nowSeconds() - 60, exp: nowSeconds() - SKEW_SECONDS + 15 },
    ],
    ['it begins within the clock skew', { iat: nowSeconds() + SKEW_SECONDS - 15, nbf: nowSeconds() + 15 }],
    ['its life is as long as it may be', { iat: nowSeconds(), exp: nowSeconds() + 86_400 }],
    ['it says more than is known', { email: 'a@b', roles: { a: [1] }, act: { sub: 'x' } }],
  ])('is one where %s', async (_what, fields) => {
    expect(await verifier.verify(rsaToken(fields))).toMatchObject({ kind: 'verified' });
  });

  it('needs no kid where one key fits', async () => {
    own.publish(RSA, EC);
    expect(
      await open([{ name: 'own', issuer: own.url }]).verify(mint(EC, { alg: 'ES256' }, claims())),
    ).toMatchObject({ kind: 'verified' });
  });

  it('may be an ID token, and without iat, where the configuration says so', async () => {
    const lenient = open([{ name: 'own', issuer: own.url, id_tokens: true, max_lifetime: 'none' }]);
    const token = rsaToken({ nonce: 'a', at_hash: 'b', c_hash: 'c', iat: undefined });
    expect(await lenient.verify(token)).toMatchObject({ kind: 'verified', issuedAt: undefined });
  });
});

describe('a token that is refused', () => {
  const rsaHeader = { alg: 'RS256', kid: 'rsa' };
  const hmacToken = (secret: string, kid?: string): string => {
    const signed = `${encode({ alg: 'HS256', kid })}.${encode(claims())}`;
    return `${signed}.${createHmac('sha256', secret).update(signed).digest('base64url')}`;
  };

  it.each<[string, string, () => string]>([
    ['1: no algorithm', 'algorithm', () => rsaToken({}, { alg: 'none' })],
    ['1: no algorithm, no signature', 'malformed', () => `${encode({ alg: 'none' })}.${encode(claims())}.`],
    ['1: no algorithm at all', 'algorithm', () => rsaToken({}, { alg: undefined })],
    ['2: HS256 with the public key', 'algorithm', () => hmacToken(JSON.stringify(RSA.jwk), 'rsa')],
    ['2: HS256 with the public key, unnamed', 'algorithm', () => hmacToken(JSON.stringify(RSA.jwk))],
    [
      '3: an algorithm off the list',
      'algorithm',
      () => mint({ ...RSA, alg: 'RS512' }, { ...rsaHeader, alg: 'RS512' }, claims()),
    ],
    [
      '4: an algorithm that its key is not for',
      'algorithm',
      () => mint({ ...RSA, alg: 'PS256' }, { ...rsaHeader, alg: 'PS256' }, claims()),
    ],
    ['6: kid as a path', 'unknown_key', () => rsaToken({}, { kid: '../../../../dev/null' })],
    ['6: kid as SQL', 'unknown_key', () => rsaToken({}, { kid: "' or 1=1 --" })],
    ['6: kid of every object', 'unknown_key', () => rsaToken({}, { kid: 'constructor' })],
    ['6: kid as a number', 'malformed', () => rsaToken({}, { kid: 1 })],
    [
      '9, 19: the key of another issuer under the same kid',
      'signature',
      () => mint(OTHER_RSA, rsaHeader, claims()),
    ],
    ['9, 19: another issuer, signed by the first', 'signature', () => rsaToken({ iss: other.url })],
    ['10: crit', 'critical_header', () => rsaToken({}, { crit: ['exp'] })],
    ['10: crit of null', 'critical_header', () => rsaToken({}, { crit: null })],
    ['10: b64', 'critical_header', () => rsaToken({}, { b64: false })],
    ['11: JWE', 'malformed', () => `${rsaToken()}.a.b`.padEnd(100, 'A')],
    ['11: opaque', 'malformed', () => 'ya29.A0ARrdaM'.padEnd(100, 'A')],
    ['12: a claim twice', 'malformed', () => mint(RSA, rsaHeader, withTwice(claims(), '"sub":"admin"'))],
    ['12: a header field twice', 'malformed', () => mint(RSA, withTwice(rsaHeader, '"kid":"rsa"'), claims())],
    ['a payload that is a list', 'malformed', () => mint(RSA, rsaHeader, [claims()])],
    [
      '13: a signature of zeros',
      'signature',
      () => `${mint(EC, { alg: 'ES256', kid: 'ec' }, claims()).replace(/[^.]+$/, '')}${'A'.repeat(86)}`,
    ],
    [
      'a signature in DER',
      'signature',
      () =>
        `${mint(EC, { alg: 'ES256', kid: 'ec' }, claims()).replace(/[^.]+$/, '')}${encode('0'.repeat(70))}`,
    ],
    ['15: exp missing', 'lifetime', () => rsaToken({ exp: undefined })],
    ['15: exp as a text', 'malformed', () => rsaToken({ exp: String(nowSeconds() + 600) })],
    [
      '15: exp beyond all numbers',
      'malformed',
      () => mint(RSA, rsaHeader, withTwice(claims({ exp: undefined }), '"exp":1e400')),
    ],
    ['15: nbf as a text', 'malformed', () => rsaToken({ nbf: '1' })],
    ['15: iat as null', 'malformed', () => rsaToken({ iat: null })],
    ['16: expired', 'expired', () => rsaToken({ iat: 1, exp: nowSeconds() - SKEW_SECONDS })],
    ['16: nbf ahead', 'not_yet_valid', () => rsaToken({ nbf: nowSeconds() + SKEW_SECONDS + 15 })],
    ['16: iat ahead', 'not_yet_valid', () => rsaToken({ iat: nowSeconds() + SKEW_SECONDS + 15 })],
    ['16: a long life', 'lifetime', () => rsaToken({ exp: nowSeconds() + 86_410 })],
    ['16: iat missing', 'lifetime', () => rsaToken({ iat: undefined })],
    ['17: aud missing', 'audience', () => rsaToken({ aud: undefined })],
    ['17: aud empty', 'audience', () => rsaToken({ aud: [] })],
    ['17: aud a prefix', 'audience', () => rsaToken({ aud: RESOURCE.slice(0, -1) })],
    ['17: aud longer', 'audience', () => rsaToken({ aud: `${RESOURCE}/x` })],
    ['17: aud in another case', 'audience', () => rsaToken({ aud: RESOURCE.toUpperCase() })],
    ['17: aud inside of a list', 'audience', () => rsaToken({ aud: [[RESOURCE]] })],
    ['19: iss plus a slash', 'unknown_issuer', () => rsaToken({ iss: `${own.url}/` })],
    ['19: iss missing', 'unknown_issuer', () => rsaToken({ iss: undefined })],
    ['19: iss as a list', 'unknown_issuer', () => rsaToken({ iss: [own.url] })],
    ['20: an ID token, by nonce', 'id_token', () => rsaToken({ nonce: 'a' })],
    ['20: an ID token, by at_hash', 'id_token', () => rsaToken({ at_hash: 'a' })],
    ['20: an ID token, by c_hash', 'id_token', () => rsaToken({ c_hash: 'a' })],
    ['21: ID-JAG', 'type', () => rsaToken({}, { typ: 'oauth-id-jag+jwt' })],
    ['21: a logout token', 'type', () => rsaToken({}, { typ: 'logout+jwt' })],
    ['21: a logout token that hides its type', 'type', () => rsaToken({ events: {} })],
    ['21: a type that is no text', 'type', () => rsaToken({}, { typ: 1 })],
    ['22: bound to a key', 'bound_token', () => rsaToken({ cnf: { jkt: 'a' } })],
    ['25: sub missing', 'subject', () => rsaToken({ sub: undefined })],
    ['25: sub empty', 'subject', () => rsaToken({ sub: '' })],
    ['25: sub as a number', 'subject', () => rsaToken({ sub: 7 })],
    ['25: sub with a control character', 'subject', () => rsaToken({ sub: 'a\nb' })],
    ['25: sub with a lone surrogate', 'subject', () => rsaToken({ sub: '\ud800' })],
    ['25: sub of 256 characters', 'subject', () => rsaToken({ sub: 'a'.repeat(256) })],
  ])('%s (%s)', async (_what, failure, token) => {
    expect(await verifier.verify(token())).toMatchObject(refused(failure));
  });

  it('5: brings its own key along, which nobody fetches', async () => {
    const places = { jku: `${own.url}/stranger`, x5u: `${own.url}/stranger` };
    const header = { alg: 'RS256', ...places, jwk: STRANGER.jwk, x5c: ['MIIB'] };
    own.answers.set('/stranger', { body: JSON.stringify({ keys: [STRANGER.jwk] }) });
    expect(await verifier.verify(mint(STRANGER, { ...header, kid: 'stranger' }, claims()))).toMatchObject(
      refused('unknown_key'),
    );
    expect(await verifier.verify(mint(STRANGER, { ...header, kid: 'rsa' }, claims()))).toMatchObject(
      refused('signature'),
    );
    expect(own.asked('/stranger')).toBe(0);
  });

  it('7: 1,000 unknown kids make us ask the issuer once', async () => {
    const verifier = open([{ name: 'own', issuer: own.url }]);
    await verifier.verify(rsaToken());
    const before = own.asked('/jwks');
    const tokens = Array.from(
      { length: 1000 },
      (_, index) => `${encode({ alg: 'RS256', kid: `k${index}` })}.${encode(claims())}.AAAA`,
    );
    const outcomes = await Promise.all(tokens.map(async (token) => verifier.verify(token)));
    expect(new Set(outcomes.map((outcome) => JSON.stringify(outcome)))).toEqual(
      new Set([JSON.stringify({ kind: 'refused', failure: 'unknown_key' })]),
    );
    await verifier.verify(rsaToken({}, { kid: 'one more' }));
    expect(own.asked('/jwks')).toBe(before + 1);
  });

  it('8: names no kid where two keys fit', async () => {
    own.publish(RSA, STRANGER);
    const verifier = open([{ name: 'own', issuer: own.url }]);
    expect(await verifier.verify(rsaToken({}, { kid: undefined }))).toMatchObject(refused('ambiguous_key'));
  });

  it('14: is spelt otherwise', async () => {
    const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
    const loose = (text: string): string => {
      const last = alphabet.indexOf(text.at(-1) ?? '');
      return text.slice(0, -1) + alphabet[last + 1];
    };
    for (const pad of ['', 'x', 'xx']) {
      const token = rsaToken({ pad });
      const [header = '', payload = '', signature = ''] = token.split('.');
      expect(await verifier.verify(token)).toMatchObject({ kind: 'verified' });
      if (payload.length % 4 !== 0) {
        expect(verifier.verify(`${header}.${loose(payload)}.${signature}`)).toMatchObject(
          refused('malformed'),
        );
      }
      for (const spelling of [
        `${header}.${payload}.${loose(signature)}`,
        `${header}.${payload}.${signature}=`,
        `${header}.${payload}.${signature}==`,
        `${header}.${payload}.${signature}AAA`,
        `${header}.${payload}.${signature.replaceAll(/[-_]/g, (char) => (char === '-' ? '+' : '/'))}~`,
        ` ${token}`,
        `${token}\n`,
      ]) {
        expect(verifier.verify(spelling)).toMatchObject(refused('malformed'));
      }
    }
  });

  it('18: names a foreign audience beside ours, where that is not allowed', async () => {
    const strict = open([{ name: 'own', issuer: own.url, other_audiences: ['https://userinfo'] }]);
    expect(await strict.verify(rsaToken({ aud: [RESOURCE, 'https://userinfo'] }))).toMatchObject({
      kind: 'verified',
    });
    expect(await strict.verify(rsaToken({ aud: [RESOURCE, 'https://other'] }))).toMatchObject(
      refused('audience'),
    );
    expect(await strict.verify(rsaToken({ aud: [RESOURCE, 1] }))).toMatchObject(refused('audience'));
    expect(await strict.verify(rsaToken({ aud: ['https://userinfo'] }))).toMatchObject(refused('audience'));
  });

  it('23, 24: lacks a required claim, as a stranger’s repository does', async () => {
    const required_claims = [
      { claim: 'repository_owner', value: ['us', 'also-us'] },
      { claim: ['job', 'env'], value: 'prod' },
    ];
    const strict = open([{ name: 'own', issuer: own.url, required_claims }]);
    const ours = { repository_owner: 'us', job: { env: ['test', 'prod'] } };
    expect(await strict.verify(rsaToken(ours))).toMatchObject({ kind: 'verified' });
    for (const fields of [
      {},
      { repository_owner: 'us' },
      { ...ours, repository_owner: 'stranger' },
      { ...ours, repository_owner: 'us/x' },
      { ...ours, job: { env: 'production' } },
      { ...ours, job: 'prod' },
    ]) {
      expect(await strict.verify(rsaToken(fields))).toMatchObject(refused('required_claim'));
    }
  });

  it('26: has more than 8,192 characters', async () => {
    const sized = (length: number): string => {
      for (let pad = 0; pad < 8; pad++) {
        const header = { alg: 'EdDSA', kid: 'ed', pad: 'x'.repeat(pad) };
        const rest = mint(ED, header, claims({ pad: '' })).length;
        for (let more = -8; more < 8; more++) {
          const padding = 'x'.repeat(Math.floor(((length - rest) * 3) / 4) + more);
          const token = mint(ED, header, claims({ pad: padding }));
          if (token.length === length) return token;
        }
      }
      throw new Error(`no token of ${length} characters`);
    };
    expect(await verifier.verify(sized(8192))).toMatchObject({ kind: 'verified' });
    expect(await verifier.verify(sized(8193))).toMatchObject(refused('too_large'));
  });

  it('gives claims of more than 8 KiB', async () => {
    const strict = open([{ name: 'own', issuer: own.url, claims: { a: 'org', b: 'org' } }]);
    expect(await strict.verify(rsaToken({ org: 'x'.repeat(4000) }))).toMatchObject({ kind: 'verified' });
    expect(await strict.verify(rsaToken({ org: 'x'.repeat(4200) }))).toMatchObject(
      refused('claims_too_large'),
    );
  });

  it('is judged by its signature before by what it says', async () => {
    const forged = mint(STRANGER, rsaHeader, claims({ exp: 1, aud: 'x', sub: '' }));
    expect(await verifier.verify(forged)).toEqual({ ...refused('signature'), issuer: undefined });
    const expired = rsaToken({ iat: 1, exp: 2 });
    expect(await verifier.verify(expired)).toMatchObject({ ...refused('expired'), issuer: { name: 'own' } });
  });
});
