import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createTokenVerifier, parseIssuers, type Issuer } from '@svc/identity';
import type { Metadata } from '@svc/protocol';
import { createTokenIssuer, temporaryFolder, type TokenIssuer } from '@svc/testkit';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createIdentifyCaller, type Identified, type IdentityRules } from './identify-caller.ts';

const AUDIENCE = 'https://gateway.example/mcp';
const ISS = 'https://id.example';
const KEY = { principal: 'key:reports', api_key_name: 'reports', claims: '{"org_id":"north"}' };

const releases: (() => unknown)[] = [];
let issuer: TokenIssuer;
let records: readonly Issuer[];
let file: string;
beforeAll(async () => {
  issuer = createTokenIssuer(ISS, AUDIENCE);
  const folder = await temporaryFolder('identity');
  releases.push(() => folder.remove());
  file = join(folder.path, 'keys.json');
  writeFileSync(file, issuer.jwks);
  records = parsed([
    { name: 'id', issuer: ISS, jwks_file: file, claims: { org_id: ['org', 'id'], roles: 'roles' } },
    { name: 'away', issuer: 'https://away.example', jwks_file: join(folder.path, 'none.json') },
  ]);
});
afterAll(async () => {
  for (const release of releases) await release();
});

function parsed(value: unknown): readonly Issuer[] {
  const result = parseIssuers(value, { resource: AUDIENCE });
  if (!result.ok) throw new Error(JSON.stringify(result.problems));
  return result.issuers;
}

type Ask = (metadata: Metadata, capability?: string) => Promise<Identified>;

/** What an agent with these rules makes of metadata; it verifies tokens of `issuers`. */
function agent(rules: IdentityRules, issuers: readonly Issuer[] = records): Ask {
  const verifier =
    rules.trust === 'gateway'
      ? undefined
      : createTokenVerifier({
          issuers,
          clockSkewMs: 0,
          refreshMs: 60_000,
          maxStaleMs: 60_000,
          onKeys: () => {},
        });
  releases.push(() => verifier?.close());
  const identify = createIdentifyCaller(rules, verifier, Date.now);
  return async (metadata, capability = 'get') => identify(metadata, capability);
}

const BY_TOKEN = { trust: 'token', acceptsKeys: false } as const;
const BY_GATEWAY = { trust: 'gateway', acceptsKeys: true } as const;
const anna = { sub: 'anna', azp: 'app', org: { id: 'north' }, roles: ['reader'], other: 'x' };

const LIE = {
  principal: 'token:id:bert',
  api_key_name: 'root',
  issuer: 'https://other.example',
  subject: 'bert',
  client_id: 'evil',
  claims: '{"org_id":"south","admin":true}',
};

describe('under trust: token', { tags: ['identity:lying-gateway'] }, () => {
  test('who calls is what the token says, whatever else the gateway sends', async () => {
    const ask = agent(BY_TOKEN);
    const token = issuer.token(anna);
    const expected = {
      kind: 'known',
      caller: {
        principal: 'token:id:anna',
        keyName: '',
        issuer: ISS,
        subject: 'anna',
        clientId: 'app',
        claims: { org_id: 'north', roles: ['reader'] },
        claimsJson: '{"org_id":"north","roles":["reader"]}',
        verifiedBy: 'token',
      },
    };
    expect(await ask({ token })).toEqual(expected);
    expect(await ask({ ...LIE, token })).toEqual(expected);
  });

  test('a token that is remembered is answered at once, as the same caller', async () => {
    const ask = agent(BY_TOKEN);
    const token = issuer.token(anna);
    const verifier = await ask({ token });
    expect(verifier.kind).toBe('known');
    const again = await ask({ token });
    if (verifier.kind !== 'known' || again.kind !== 'known') expect.unreachable();
    expect(again.caller).toBe(verifier.caller);
  });

  test.each<[string, () => Metadata]>([
    ['no token, though the gateway names a subject', () => LIE],
    ['no token, though the gateway names a key', () => KEY],
    ['nothing at all', () => ({})],
    ['no token but an empty text', () => ({ ...LIE, token: '' })],
    ['a token of another key', () => ({ token: createTokenIssuer(ISS, AUDIENCE).token(anna) })],
    [
      'a token for somebody else',
      () => ({ token: issuer.token({ ...anna, aud: 'https://other.example/mcp' }) }),
    ],
    ['an expired token', () => ({ token: issuer.token({ ...anna, exp: 1 }) })],
    [
      'a token of an issuer that the file does not have',
      () => ({ token: issuer.token({ ...anna, iss: 'x' }) }),
    ],
    ['a token with another subject under its signature', () => ({ token: forged(issuer.token(anna)) })],
  ])('%s is refused', async (_title, metadata) => {
    const outcome = await agent(BY_TOKEN)(metadata());
    expect(outcome).toEqual({ kind: 'refused', detail: expect.any(String) });
    expect(JSON.stringify(outcome)).not.toMatch(/anna|bert|north|south|root|evil/);
  });

  test('keys are taken on the word of the gateway where the file says so, and nothing else is', async () => {
    const ask = agent({ ...BY_TOKEN, acceptsKeys: true });
    const known = {
      kind: 'known',
      caller: {
        principal: 'key:reports',
        keyName: 'reports',
        issuer: '',
        subject: '',
        clientId: '',
        claims: { org_id: 'north' },
        claimsJson: '{"org_id":"north"}',
        verifiedBy: 'gateway',
      },
    };
    expect(await ask(KEY)).toEqual(known);
    expect(await ask({ ...KEY, issuer: ISS, subject: 'anna', client_id: 'app' })).toEqual(known);
    for (const metadata of [LIE, { ...KEY, principal: 'token:id:anna' }, { principal: 'key:a' }, {}]) {
      expect(await ask(metadata)).toMatchObject({ kind: 'refused' });
    }
    const token = issuer.token(anna);
    expect(await ask({ ...KEY, token })).toMatchObject({ caller: { subject: 'anna', keyName: '' } });
  });

  test('a token is taken up to max_age, and half a minute more for clocks that differ', async () => {
    const ask = agent({ ...BY_TOKEN, maxAgeSeconds: 60 });
    const aged = (seconds: number): string =>
      issuer.token({ ...anna, iat: Math.floor(Date.now() / 1000) - seconds });
    expect(await ask({ token: aged(59) })).toMatchObject({ kind: 'known' });
    expect(await ask({ token: aged(85) })).toMatchObject({ kind: 'known' });
    expect(await ask({ token: aged(95) })).toEqual({
      kind: 'refused',
      detail: 'the token is older than max_age',
      caller: expect.objectContaining({ subject: 'anna' }),
    });
  });

  test('a token that does not say when it was issued has no age', async () => {
    const eternal = parsed([{ name: 'id', issuer: ISS, jwks_file: file, max_lifetime: 'none' }]);
    const token = issuer.token({ ...anna, iat: undefined });
    expect(await agent(BY_TOKEN, eternal)({ token })).toMatchObject({ kind: 'known' });
    expect(await agent({ ...BY_TOKEN, maxAgeSeconds: 60 }, eternal)({ token })).toMatchObject({
      kind: 'refused',
    });
  });

  test('grants hold for the capability', async () => {
    const granting = parsed([
      {
        name: 'id',
        issuer: ISS,
        jwks_file: file,
        grants: [
          { capabilities: ['get'], scope: 'read' },
          { capabilities: ['*'], claim: 'roles', value: 'dba' },
        ],
      },
    ]);
    const ask = agent(BY_TOKEN, granting);
    const may = async (claims: object, capability: string): Promise<boolean> =>
      (await ask({ token: issuer.token({ sub: 'anna', ...claims }) }, capability)).kind === 'known';
    expect(await may({ scope: 'read' }, 'get')).toBe(true);
    expect(await may({ scope: 'read' }, 'list')).toBe(false);
    expect(await may({ scope: 'reader' }, 'get')).toBe(false);
    expect(await may({ roles: ['dba'] }, 'list')).toBe(true);
    expect(await may({}, 'get')).toBe(false);
  });

  test('a subject that the log must not have is hashed in the principal alone', async () => {
    const hiding = parsed([{ name: 'id', issuer: ISS, jwks_file: file, log_subject: false }]);
    const outcome = await agent(BY_TOKEN, hiding)({ token: issuer.token(anna) });
    expect(outcome).toMatchObject({
      caller: { principal: expect.stringMatching(/^token:id:[\w-]{22}$/), subject: 'anna' },
    });
  });

  test(
    'an issuer whose keys are not known yet is nobody’s fault',
    { tags: ['identity:unavailable-keys'] },
    async () => {
      const token = issuer.token({ ...anna, iss: 'https://away.example' });
      expect(await agent(BY_TOKEN)({ token })).toEqual({
        kind: 'unavailable',
        detail: 'no keys of the issuer away are known yet',
      });
    },
  );
});

describe('under trust: gateway', () => {
  const ask = agent(BY_GATEWAY);

  test('who calls is what the gateway says', async () => {
    expect(await ask(KEY)).toMatchObject({
      caller: {
        principal: 'key:reports',
        keyName: 'reports',
        claims: { org_id: 'north' },
        verifiedBy: 'gateway',
      },
    });
    const { api_key_name: _none, ...token } = LIE;
    expect(await ask(token)).toEqual({
      kind: 'known',
      caller: {
        principal: 'token:id:bert',
        keyName: '',
        issuer: 'https://other.example',
        subject: 'bert',
        clientId: 'evil',
        claims: { org_id: 'south', admin: true },
        claimsJson: '{"org_id":"south","admin":true}',
        verifiedBy: 'gateway',
      },
    });
  });

  test('the name of a key beside a subject is none', async () => {
    expect(await ask(LIE)).toMatchObject({ caller: { keyName: '', subject: 'bert' } });
  });

  test('without claims there are none', async () => {
    const { claims: _none, ...key } = KEY;
    expect(await ask(key)).toMatchObject({ caller: { claims: {}, claimsJson: '{}' } });
  });

  test.each<[string, Metadata]>([
    ['no principal', { api_key_name: 'reports' }],
    ['claims that are no JSON', { ...KEY, claims: '{' }],
    ['claims that are no object', { ...KEY, claims: '["a"]' }],
    ['a claim twice', { ...KEY, claims: '{"a":"x","a":"y"}' }],
    ['a claim that is an object', { ...KEY, claims: '{"a":{"b":"x"}}' }],
    ['a claim that is null', { ...KEY, claims: '{"a":null}' }],
    ['a claim that is empty', { ...KEY, claims: '{"a":""}' }],
    ['a claim with U+0000', { ...KEY, claims: String.raw`{"a":"x\u0000"}` }],
    ['a claim with another name', { ...KEY, claims: '{"A":"x"}' }],
  ])('%s is refused', async (_title, metadata) => {
    expect(await ask(metadata)).toMatchObject({ kind: 'refused' });
  });
});

/** The same signature over another payload. */
function forged(token: string): string {
  const [header, payload = '', signature] = token.split('.');
  const claims: object = JSON.parse(Buffer.from(payload, 'base64url').toString());
  const other = Buffer.from(JSON.stringify({ ...claims, sub: 'bert' })).toString('base64url');
  return [header, other, signature].join('.');
}
