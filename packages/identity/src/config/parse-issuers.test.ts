import { describe, expect, it } from 'vitest';
import { parseIssuers } from './parse-issuers.ts';

const RESOURCE = 'https://gateway.example.com/mcp';
const OWN = { name: 'own', issuer: 'https://id.example.com' };

function parse(...records: readonly unknown[]) {
  return parseIssuers(records, { resource: RESOURCE });
}
function problemsOf(...records: readonly unknown[]): readonly string[] {
  const parsed = parse(...records);
  return parsed.ok ? [] : parsed.problems.map(({ path, message }) => `${path.join('.')} ${message}`);
}
function issuerOf(fields: object) {
  const parsed = parse({ ...OWN, ...fields });
  expect(parsed).toMatchObject({ ok: true });
  return parsed.ok ? parsed.issuers[0] : undefined;
}

describe('parseIssuers', () => {
  it('reads a record with all defaults', () => {
    expect(parse(OWN)).toEqual({
      ok: true,
      warnings: [],
      issuers: [
        {
          name: 'own',
          issuer: 'https://id.example.com',
          audiences: [RESOURCE, `${RESOURCE}/`],
          audienceClaim: undefined,
          otherAudiences: undefined,
          keySource: { kind: 'discovery' },
          algorithms: ['RS256', 'PS256', 'ES256', 'EdDSA'],
          types: ['at+jwt', 'jwt', ''],
          idTokens: false,
          requiredClaims: [],
          maxLifetimeMs: 86_400_000,
          grants: [],
          claims: new Map(),
          scopes: [],
          advertise: true,
          logSubject: true,
        },
      ],
    });
  });

  it('takes another claim than aud for the audience, with a warning', () => {
    const parsed = parse({ ...OWN, audiences: ['3n4b5'], audience_claim: 'client_id' });
    expect(parsed).toMatchObject({
      ok: true,
      issuers: [{ audiences: ['3n4b5'], audienceClaim: 'client_id' }],
      warnings: [
        expect.stringMatching(/^issuer "own": its tokens do not say for which service .* client_id "3n4b5" /),
      ],
    });
  });

  it.each<[object, string]>([
    [{ audience_claim: 'client_id' }, '0.audiences '],
    [{ audience_claim: 'client_id', audiences: [] }, '0.audiences '],
    [{ audience_claim: 'client_id', audiences: ['a'], other_audiences: ['b'] }, '0.other_audiences '],
    [{ audience_claim: 'aud', audiences: ['a'] }, '0.audience_claim '],
    [{ audience_claim: '', audiences: ['a'] }, '0.audience_claim '],
    [{ audience_claim: 5, audiences: ['a'] }, '0.audience_claim '],
  ])('refuses %j', (fields, path) => {
    expect(problemsOf({ ...OWN, ...fields })).toEqual([expect.stringContaining(path)]);
  });

  it('reads every field', () => {
    const issuer = issuerOf({
      audiences: ['api://a'],
      other_audiences: [],
      jwks_uri: 'https://keys.example.com/jwks',
      algorithms: ['ES512', 'ES512'],
      types: ['application/AT+JWT', ''],
      id_tokens: true,
      required_claims: { hd: 'example.com', 'https://a.b/c': [1, true] },
      max_lifetime: '1h30m',
      grants: [
        { capabilities: ['find_book'], scope: 'library.read' },
        { capabilities: ['*'], claim: ['realm_access', 'roles'], value: 'dba' },
        { capabilities: ['*'], claim: 'https://a.b/level', value: 3 },
        { capabilities: ['*'], scope: 'library.read' },
      ],
      claims: { org_id: 'https://a.b/org', roles: ['realm_access', 'roles'] },
      advertise: false,
      log_subject: false,
    });
    expect(issuer).toEqual({
      ...OWN,
      audiences: ['api://a'],
      otherAudiences: [],
      keySource: { kind: 'uri', uri: 'https://keys.example.com/jwks' },
      algorithms: ['ES512'],
      types: ['at+jwt', ''],
      idTokens: true,
      requiredClaims: [
        { path: ['hd'], values: ['example.com'] },
        { path: ['https://a.b/c'], values: [1, true] },
      ],
      maxLifetimeMs: 5_400_000,
      grants: [
        { capabilities: new Set(['find_book']), condition: { kind: 'scope', scope: 'library.read' } },
        {
          capabilities: '*',
          condition: { kind: 'claim', path: ['realm_access', 'roles'], value: 'dba' },
        },
        { capabilities: '*', condition: { kind: 'claim', path: ['https://a.b/level'], value: 3 } },
        { capabilities: '*', condition: { kind: 'scope', scope: 'library.read' } },
      ],
      claims: new Map([
        ['org_id', ['https://a.b/org']],
        ['roles', ['realm_access', 'roles']],
      ]),
      scopes: ['library.read'],
      advertise: false,
      logSubject: false,
    });
  });

  it('reads required claims inside others', () => {
    const required = [
      { claim: ['a', 'b'], value: 'c' },
      { claim: 'd.e', value: ['f', 2] },
    ];
    expect(issuerOf({ required_claims: required })?.requiredClaims).toEqual([
      { path: ['a', 'b'], values: ['c'] },
      { path: ['d.e'], values: ['f', 2] },
    ]);
  });

  it.each([
    [
      { jwks_file: '/etc/svc/jwks.json', issuer: 'kubernetes' },
      { kind: 'file', path: '/etc/svc/jwks.json' },
    ],
    [
      { jwks_uri: 'https://a/b', issuer: 'http://intern' },
      { kind: 'uri', uri: 'https://a/b' },
    ],
  ])('asks for an https issuer only where its keys are discovered: %j', (fields, keySource) => {
    expect(issuerOf(fields)).toMatchObject({ issuer: fields.issuer, keySource });
  });

  it('takes no limit of the lifetime, and scopes that are not those of the grants', () => {
    const grants = [{ capabilities: ['*'], scope: 'a' }];
    expect(issuerOf({ max_lifetime: 'none', grants, scopes: ['api://x/a'] })).toMatchObject({
      maxLifetimeMs: undefined,
      scopes: ['api://x/a'],
    });
  });

  it.each<[object | string | null, string]>([
    ['text', '0 is not an object'],
    [null, '0 is not an object'],
    [{ ...OWN, name: undefined }, '0.name is missing'],
    [{ ...OWN, name: 'Own' }, '0.name is not accepted'],
    [{ ...OWN, name: 'a'.repeat(33) }, '0.name is not accepted'],
    [{ ...OWN, issuer: undefined }, '0.issuer is missing'],
    [{ ...OWN, issuer: 'http://id.example.com' }, '0.issuer is not accepted; accepted: an https:// URL'],
    [{ ...OWN, issuer: 'http://127.0.0.1:9000' }, '0.issuer is not accepted'],
    [{ ...OWN, issuer: 'https://id.example.com?a' }, '0.issuer is not accepted'],
    [{ ...OWN, issuer: 'https://a:b@id.example.com' }, '0.issuer is not accepted'],
    [{ ...OWN, issuer: 'https://id.example.com ' }, '0.issuer is not accepted'],
    [{ ...OWN, issuer: 5 }, '0.issuer is not accepted'],
    [{ ...OWN, issuer: 'a\nb', jwks_file: 'x' }, '0.issuer is not accepted'],
    [{ ...OWN, jwks_uri: 'http://localhost/jwks' }, '0.jwks_uri is not accepted'],
    [{ ...OWN, jwks_uri: 'https://a', jwks_file: 'b' }, '0.jwks_file stands beside jwks_uri'],
    [{ ...OWN, jwks_file: '' }, '0.jwks_file is not accepted'],
    [{ ...OWN, audiences: [] }, '0.audiences has 0 entries'],
    [{ ...OWN, audiences: 'a' }, '0.audiences is not a list'],
    [{ ...OWN, audiences: ['a', ''] }, '0.audiences.1 is not accepted'],
    [{ ...OWN, other_audiences: [1] }, '0.other_audiences.0 is not accepted'],
    [{ ...OWN, algorithms: ['none'] }, '0.algorithms.0 is not accepted'],
    [{ ...OWN, algorithms: ['HS256'] }, '0.algorithms.0 is not accepted'],
    [{ ...OWN, algorithms: [] }, '0.algorithms has 0 entries'],
    [{ ...OWN, types: ['logout+jwt'] }, '0.types.0 is not accepted'],
    [{ ...OWN, types: ['application/OAUTH-ID-JAG+jwt'] }, '0.types.0 is not accepted'],
    [{ ...OWN, id_tokens: 'yes' }, '0.id_tokens is not accepted'],
    [{ ...OWN, required_claims: 'a' }, '0.required_claims is not accepted'],
    [{ ...OWN, required_claims: { a: [] } }, '0.required_claims.a has 0 entries'],
    [{ ...OWN, required_claims: { a: 2 ** 53 } }, '0.required_claims.a is not accepted'],
    [{ ...OWN, required_claims: { a: null } }, '0.required_claims.a is not accepted'],
    [{ ...OWN, required_claims: { a: '' } }, '0.required_claims.a is not accepted'],
    [{ ...OWN, required_claims: ['a'] }, '0.required_claims.0 is not an object'],
    [{ ...OWN, required_claims: [{ claim: 'a' }] }, '0.required_claims.0.value is missing'],
    [{ ...OWN, required_claims: [{ claim: 'a', values: 1, value: 1 }] }, '0.required_claims.0.values is not'],
    [{ ...OWN, max_lifetime: '0s' }, '0.max_lifetime is not accepted'],
    [{ ...OWN, max_lifetime: 3600 }, '0.max_lifetime is not accepted'],
    [{ ...OWN, max_lifetime: null }, '0.max_lifetime is not accepted'],
    [{ ...OWN, grants: {} }, '0.grants is not a list'],
    [{ ...OWN, grants: ['a'] }, '0.grants.0 is not an object'],
    [{ ...OWN, grants: [{ capabilities: ['a'] }] }, '0.grants.0 needs either scope or claim'],
    [
      { ...OWN, grants: [{ capabilities: ['a'], scope: 'a', claim: 'b', value: 'c' }] },
      '0.grants.0 needs either scope or claim',
    ],
    [{ ...OWN, grants: [{ capabilities: ['a'], scope: 'a b' }] }, '0.grants.0.scope is not accepted'],
    [{ ...OWN, grants: [{ scope: 'a' }] }, '0.grants.0.capabilities is not a list'],
    [{ ...OWN, grants: [{ capabilities: ['A'], scope: 'a' }] }, '0.grants.0.capabilities.0 is not accepted'],
    [{ ...OWN, grants: [{ capabilities: ['*', 'a'], scope: 'a' }] }, '0.grants.0.capabilities.0 is not'],
    [{ ...OWN, grants: [{ capabilities: ['a'], scope: 'a', value: 'b' }] }, '0.grants.0.value belongs to'],
    [{ ...OWN, grants: [{ capabilities: ['a'], claim: [], value: 'b' }] }, '0.grants.0.claim has 0 entries'],
    [{ ...OWN, grants: [{ capabilities: ['a'], claim: '', value: 'b' }] }, '0.grants.0.claim is not'],
    [{ ...OWN, grants: [{ capabilities: ['a'], claim: 'b' }] }, '0.grants.0.value is missing'],
    [{ ...OWN, grants: [{ capabilities: ['a'], claim: 'b', value: {} }] }, '0.grants.0.value is not'],
    [{ ...OWN, claims: [] }, '0.claims is not an object'],
    [{ ...OWN, claims: { OrgId: 'a' } }, '0.claims.OrgId is not accepted; accepted: a name of'],
    [{ ...OWN, claims: { org_id: 1 } }, '0.claims.org_id is not accepted; accepted: the name of a claim'],
    [{ ...OWN, claims: { org_id: ['a', 1] } }, '0.claims.org_id.1 is not accepted'],
    [{ ...OWN, scopes: ['a b'] }, '0.scopes.0 is not accepted'],
    [{ ...OWN, advertise: 1 }, '0.advertise is not accepted'],
    [{ ...OWN, log_subject: 'no' }, '0.log_subject is not accepted'],
    [{ ...OWN, audience: 'a' }, '0.audience is not a field that is known; did you mean audiences?'],
    [
      { ...OWN, grants: [{ capabilites: ['a'], capabilities: ['a'], scope: 'a' }] },
      '0.grants.0.capabilites is not a field that is known; did you mean capabilities?',
    ],
  ])('refuses %j', (record, problem) => {
    expect(problemsOf(record)).toEqual([expect.stringContaining(problem)]);
  });

  it.each(['common', 'organizations', 'consumers', 'Common', '{tenantid}'])(
    'says why Entra’s issuer of all tenants (%s) is none',
    (tenant) => {
      const issuer = `https://login.microsoftonline.com/${tenant}/v2.0`;
      expect(problemsOf({ ...OWN, issuer, jwks_file: 'a' })).toEqual([
        expect.stringContaining('each names the tenant that issued it'),
      ]);
      expect(issuerOf({ issuer: 'https://login.microsoftonline.com/b1/v2.0' })).toBeDefined();
    },
  );

  it.each([
    'https://token.actions.githubusercontent.com',
    'https://gitlab.com',
    'https://accounts.google.com',
    'https://login.microsoftonline.com/9188040d-6c67-4c5b-b112-36a304b66dad/v2.0',
  ])('wants required claims for %s, which gives tokens to everybody', (issuer) => {
    const said = expect.stringContaining('0.required_claims must be given, for this issuer gives tokens to');
    for (const required_claims of [undefined, {}, [], { iss: issuer }, { aud: 'x', iss: issuer }]) {
      expect(problemsOf({ ...OWN, issuer, required_claims })).toEqual([said]);
    }
    expect(issuerOf({ issuer, required_claims: { repository: 'a/b' } })).toBeDefined();
  });

  it('wants audiences where there is no default', () => {
    expect(parseIssuers([OWN], { resource: undefined })).toEqual({
      ok: false,
      problems: [{ path: [0, 'audiences'], message: expect.stringContaining('is not a list') }],
    });
  });

  it('wants every name and every issuer once', () => {
    expect(problemsOf(OWN, { ...OWN, name: 'other' }, { ...OWN, issuer: 'https://b' })).toEqual([
      '1.issuer is that of an earlier issuer; accepted: each issuer once',
      '2.name is that of an earlier issuer; accepted: each name once',
    ]);
  });

  it('reports all faults of all records', () => {
    expect(problemsOf({ ...OWN, name: '', issuer: '' }, { ...OWN, grants: [1, 2] })).toHaveLength(4);
  });

  it('takes a list of 16 issuers and no more', () => {
    const records = Array.from({ length: 17 }, (_, index) => ({
      name: `i${index}`,
      issuer: `https://${index}.example.com`,
    }));
    expect(parse(...records.slice(0, 16))).toMatchObject({ ok: true });
    expect(problemsOf(...records)).toEqual([' has 17 issuers; accepted: at most 16']);
    expect(parseIssuers({}, { resource: RESOURCE })).toMatchObject({ ok: false, problems: [{ path: [] }] });
    expect(parse()).toEqual({ ok: true, issuers: [], warnings: [] });
  });

  describe('where an audience is a client id, as in ID tokens', () => {
    const client = { ...OWN, audiences: ['api://a', '6f1c2f4e-0d0a-4a55-9b3e-d0d1a2c6f7aa'] };
    const byScope = { capabilities: ['*'], scope: 'read' };
    const byClaim = { capabilities: ['*'], claim: 'roles', value: 'dba' };

    it.each<[string, object]>([
      ['without grants', {}],
      ['with a grant by claim', { grants: [byScope, byClaim] }],
      ['with a required claim that ID tokens have', { grants: [byClaim], required_claims: { tid: 'b1' } }],
    ])('warns %s', (_what, fields) => {
      const parsed = parse({ ...client, ...fields });
      expect(parsed).toMatchObject({
        ok: true,
        warnings: [expect.stringContaining('issuer "own": its audi')],
      });
    });

    it.each<[string, object]>([
      ['every grant has a scope', { grants: [byScope] }],
      ['a claim of access tokens is required', { grants: [byClaim], required_claims: { scp: 'read' } }],
      ['ID tokens are wanted', { id_tokens: true }],
      ['the audiences are URLs', { audiences: ['api://a', 'https://b', 'urn:c'] }],
    ])('says nothing where %s', (_what, fields) => {
      expect(parse({ ...client, ...fields })).toMatchObject({ ok: true, warnings: [] });
    });
  });
});
