import { describe, expect, test } from 'vitest';
import { faultLines, fileText, load } from '../load.fixture.ts';
import type { IdentityConfig } from '../model.ts';

const ISSUER = '{ name: keycloak, issuer: "https://id.example.com", claims: { org_id: org } }';

/** A file with this `identity`, whose one capability has this parameter. */
function fileWith(identity: string, param = ''): string {
  return fileText({
    identity,
    capabilities: `capabilities: { ping: { sql: SELECT 1, params: { ${param} }, result: { one: { type: integer } } } }`,
  });
}

const messages = (text: string): readonly string[] =>
  faultLines(load(text)).map((line) => line.replace(/^\S+ /, ''));

function identityOf(section: string, gateway?: string): IdentityConfig | undefined {
  const loaded = load(fileText({ identity: section, ...(gateway === undefined ? {} : { gateway }) }));
  if ('faults' in loaded) expect.unreachable(faultLines(loaded).join('\n'));
  return loaded.config.identity;
}

const TOKEN = `identity: { trust: token, issuers: [${ISSUER}] }`;

describe('identity', { tags: ['file:identity'] }, () => {
  test('is absent where the file has none', () => {
    const loaded = load(fileText());
    expect(loaded).not.toHaveProperty('config.identity');
  });

  test('of the gateway takes keys and tokens on its word', () => {
    const expected = { trust: 'gateway', acceptsKeys: true, issuers: [], issuerPositions: [] };
    expect(identityOf('identity: { trust: gateway }')).toEqual(expected);
    expect(identityOf('identity: { trust: gateway, api_keys: accept, max_age: 1h30m }')).toEqual({
      ...expected,
      maxAgeSeconds: 5400,
    });
  });

  test('of tokens refuses keys unless it says otherwise, and knows where its issuers stand', () => {
    expect(identityOf(TOKEN)).toMatchObject({
      trust: 'token',
      acceptsKeys: false,
      issuers: [{ name: 'keycloak', keySource: { kind: 'discovery' } }],
      issuerPositions: [{ line: 5 }],
    });
    const accepting = TOKEN.replace('trust: token', 'trust: token, api_keys: accept');
    expect(identityOf(accepting)).toMatchObject({ acceptsKeys: true });
  });

  test.each([
    ['wss://gw.example.com/ws/agent', 'https://gw.example.com/mcp'],
    ['wss://GW.example.com:443/ws/agent', 'https://gw.example.com/mcp'],
    ['wss://gw.example.com:8443/ws/agent', 'https://gw.example.com:8443/mcp'],
    ['ws://127.0.0.1:8080/ws/agent', 'http://127.0.0.1:8080/mcp'],
  ])('expects of tokens the audience of the gateway at %s', (url, audience) => {
    const gateway = fileText().replace('wss://gw.example.com/ws/agent', url).split('\n')[1] ?? '';
    expect(identityOf(TOKEN, gateway)?.issuers[0]?.audiences).toEqual([audience, `${audience}/`]);
  });

  test('finds key files beside the capability file', () => {
    const issuer = '{ name: a, issuer: a, jwks_file: keys/a.json }';
    const identity = identityOf(`identity: { trust: token, issuers: [${issuer}] }`);
    expect(identity?.issuers[0]?.keySource).toEqual({ kind: 'file', path: '/etc/svc/keys/a.json' });
  });

  test('takes names and URLs from the environment', () => {
    const issuer = '{ name: a, issuer: "${ISS}" }';
    const text = fileText({ identity: `identity: { trust: "\${TRUST}", issuers: [${issuer}] }` });
    const loaded = load(text, { TRUST: 'token', ISS: 'https://id.example.com' });
    expect(loaded).toHaveProperty('config.identity.issuers.0.issuer', 'https://id.example.com');
  });

  test('with an audience that ID tokens have, too, is warned of', () => {
    const issuer = '{ name: a, issuer: "https://id.example.com", audiences: [my-client] }';
    const loaded = load(fileText({ identity: `identity: { trust: token, issuers: [${issuer}] }` }));
    expect(loaded).toMatchObject({
      warnings: [
        { path: 'identity.issuers', position: { line: 5 }, message: expect.stringContaining('ID tokens') },
        { path: 'capabilities.ping.description' },
      ],
    });
  });

  test.each([
    ['identity: {}', 'identity.trust: is required'],
    ['identity: { trust: everybody }', 'identity.trust: must be one of token, gateway'],
    ['identity: { trust: token }', 'identity.issuers: is required under `trust: token`'],
    ['identity: { trust: token, issuers: [] }', 'identity.issuers: must have at least 1 entry'],
    [
      `identity: { trust: gateway, issuers: [${ISSUER}] }`,
      'identity.issuers: belongs to `trust: token`: under `trust: gateway` the gateway alone verifies tokens',
    ],
    [
      'identity: { trust: gateway, api_keys: refuse }',
      'identity.api_keys: must be accept: under `trust: gateway` the word of the gateway counts for keys and tokens alike',
    ],
    [
      'identity: { trust: gateway, max_age: 1 }',
      'identity.max_age: must be a duration such as `500ms`, `30s`, `2m` or `1m30s`',
    ],
    [
      'identity: { trust: gateway, max_age: 1500ms }',
      'identity.max_age: must be whole seconds, from 1s to 8760h',
    ],
    [
      'identity: { trust: gateway, max_age: 0s }',
      'identity.max_age: must be whole seconds, from 1s to 8760h',
    ],
    [
      'identity: { trust: gateway, max_age: 8761h }',
      'identity.max_age: must be whole seconds, from 1s to 8760h',
    ],
    [
      'identity: { trust: gateway, ages: 1 }',
      'identity.ages: unknown key; accepted: trust, api_keys, max_age, issuers',
    ],
    ['identity: { trust: token, issuers: [{ name: a }] }', 'identity.issuers.0.issuer: is required'],
    [
      'identity: { trust: token, issuers: [{ name: a, issuer: "https://a.example", audience: x }] }',
      'identity.issuers.0.audience: unknown key, did you mean `audiences`?',
    ],
  ])('%s', (identity, fault) => {
    expect(messages(fileText({ identity }))).toEqual([fault]);
  });

  test('points at each fault of an issuer, all at once', () => {
    const identity = [
      'identity:',
      '  trust: token',
      '  issuers:',
      '    - name: A',
      '      issuer: http://id.example.com',
      '      grants:',
      '        - { capabilities: [ping], scope: "a b" }',
    ].join('\n');
    expect(faultLines(load(fileText({ identity }))).map((line) => line.split(': ')[0])).toEqual([
      '8:13 identity.issuers.0.name',
      '9:15 identity.issuers.0.issuer',
      '11:42 identity.issuers.0.grants.0.scope',
    ]);
  });

  test('a URL of the gateway that cannot be used is one fault, not one for each issuer, too', () => {
    const gateway = fileText().replace('wss://', 'https://').split('\n')[1] ?? '';
    expect(messages(fileText({ identity: TOKEN, gateway }))).toHaveLength(1);
  });
});

describe('a parameter that is taken from who calls', { tags: ['capability:params.from'] }, () => {
  const GATEWAY = 'identity: { trust: gateway }';

  test.each([
    '{ type: string, from: principal.subject }',
    '{ type: string, from: principal.issuer }',
    '{ type: uuid, from: principal.client_id }',
    '{ type: string, from: principal.key_name, maxLength: 5 }',
    '{ type: integer, from: principal.claims.org_id, minimum: 1 }',
    '{ type: boolean, from: principal.claims.a }',
    '{ type: array, items: { type: uuid }, from: principal.claims.a, minItems: 1 }',
  ])('may be %s', (param) => {
    const loaded = load(fileWith(GATEWAY, `p: ${param}`));
    if ('faults' in loaded) expect.unreachable(faultLines(loaded).join('\n'));
    const from = /principal\.[a-z_.]+/.exec(param)?.[0];
    expect(loaded.config.capabilities[0]?.params).toMatchObject([{ name: 'p', from, required: true }]);
    expect(loaded.config.capabilities[0]?.params[0]?.schema).not.toHaveProperty('from');
  });

  test('needs identity', () => {
    const capabilities =
      'capabilities: { ping: { sql: SELECT 1, params: { p: { type: string, from: principal.subject } }, result: { one: { type: integer } } } }';
    expect(messages(fileText({ capabilities }))).toEqual([
      'capabilities.ping.params.p.from: needs `identity`, which says whose word the agent takes for who calls',
    ]);
  });

  const IS_NEVER_SENT = 'does not go with `from`: callers neither send the parameter nor see it';
  test.each([
    ['{ type: string, from: principal.subject, required: true }', `required: ${IS_NEVER_SENT}`],
    ['{ type: string, from: principal.subject, required: false }', `required: ${IS_NEVER_SENT}`],
    ['{ type: string, from: principal.subject, default: a }', `default: ${IS_NEVER_SENT}`],
    ['{ type: string, from: principal.subject, description: a }', `description: ${IS_NEVER_SENT}`],
    [
      '{ type: integer, from: principal.subject }',
      'type: must be string, uuid, date or datetime: `principal.subject` is a text',
    ],
    [
      '{ type: object, from: principal.claims.a }',
      'type: no claim is an object: name one of its members in `claims`',
    ],
    [
      '{ type: array, items: { type: integer }, from: principal.claims.a }',
      'items.type: must be string, uuid, date or datetime: lists of claims hold texts',
    ],
    ...['principal.name', 'principal.claims', 'principal.claims.Org', 'principal.claims.a.b', 'subject'].map(
      (from) => [
        `{ type: string, from: ${from} }`,
        'from: must be a property of who calls, such as `principal.subject`, `principal.issuer`, `principal.client_id`, `principal.key_name` or `principal.claims.org_id`',
      ],
    ),
  ])('may not be %s', (param, fault) => {
    expect(messages(fileWith(GATEWAY, `p: ${param}`))).toEqual([`capabilities.ping.params.p.${fault}`]);
  });

  test('cannot be what the file lets nobody know', () => {
    const unmapped = 'is never known: `claims` of no issuer in `identity.issuers` has this name';
    const keyless =
      'is never known: `identity` refuses API keys; set `api_keys: accept`, or take something else';
    const claim = (name: string): string => `p: { type: string, from: principal.claims.${name} }`;
    const key = 'p: { type: string, from: principal.key_name }';
    expect(messages(fileWith(TOKEN, claim('org_id')))).toEqual([]);
    expect(messages(fileWith(TOKEN, claim('org')))).toEqual([`capabilities.ping.params.p.from: ${unmapped}`]);
    expect(messages(fileWith(TOKEN, key))).toEqual([`capabilities.ping.params.p.from: ${keyless}`]);
    const accepting = TOKEN.replace('trust: token', 'trust: token, api_keys: accept');
    expect(messages(fileWith(accepting, claim('org')))).toEqual([]);
    expect(messages(fileWith(accepting, key))).toEqual([]);
  });
});
