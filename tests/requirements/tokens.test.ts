import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import {
  createKey,
  createTokenIssuer,
  freePort,
  startService,
  temporaryFolder,
  testDatabase,
  type Service,
  type TemporaryFolder,
} from '@svc/testkit';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { gatewaysOfThisFile } from './gateways-of-this-file.testing.ts';
import { askOnce, CALL, codeOf, JSON_TYPE, recordsOf, type Environment } from './lone-gateway.testing.ts';
import { createMcpCaller, type McpCaller } from './mcp-caller.testing.ts';
import type { RawAnswer } from './raw-http.testing.ts';

const ISSUER = 'https://idp.example';
const issuer = createTokenIssuer(ISSUER, 'http://localhost/mcp');
const CAPABILITIES = `
identity: { trust: gateway, max_age: 1h }
capabilities:
  mine:
    description: The tenant of who calls
    sql: select :tenant as tenant
    params: { tenant: { type: string, from: principal.claims.org_id } }
    result: { tenant: { type: string } }
  slow:
    description: Until it is cancelled
    sql: select 'x' as slept from pg_sleep(60)
    policy: { allow_functions: [pg_sleep] }
    result: { slept: { type: string } }
`;

let folder: TemporaryFolder;
let tokenEnv: Environment;
let service: Service;
let mcp: McpCaller;
let metricsPort: number;
let southKey: string;
beforeAll(async () => {
  folder = await temporaryFolder('tokens');
  const jwksFile = join(folder.path, 'jwks.json');
  await writeFile(jwksFile, issuer.jwks);
  const record = {
    name: 'idp',
    issuer: ISSUER,
    jwks_file: jwksFile,
    grants: [{ capabilities: ['mine', 'slow'], scope: 'read' }],
    claims: { org_id: ['org', 'id'] },
  };
  tokenEnv = { GATEWAY_PUBLIC_URL: 'http://localhost', GATEWAY_ISSUERS_JSON: JSON.stringify([record]) };
  metricsPort = await freePort();
  const created = await createKey('south', '*');
  southKey = created.api_key;
  service = await startService({
    database: await testDatabase({ sql: [] }),
    capabilities: CAPABILITIES,
    gatewayEnv: {
      GATEWAY_PUBLIC_URL: 'http://localhost',
      GATEWAY_ISSUERS_JSON: JSON.stringify([record]),
      GATEWAY_API_KEYS_JSON: JSON.stringify([{ ...created.record, claims: { org_id: 'south' } }]),
      GATEWAY_PRINCIPAL_MAX_CONCURRENT_CALLS: '2',
      GATEWAY_METRICS_ADDR: `127.0.0.1:${metricsPort}`,
    },
  });
  mcp = createMcpCaller(service.port, '');
});
afterAll(async () => {
  await service.stop();
  await folder.remove();
});

const token = (claims: object = {}): string =>
  issuer.token({ sub: 'ann', scope: 'read', org: { id: 'north' }, ...claims });
const bearer = (credential: string): Record<string, string> => ({ Authorization: `Bearer ${credential}` });
const challengeOf = ({ headers }: RawAnswer): unknown =>
  headers.find(([name]) => name.toLowerCase() === 'www-authenticate')?.[1];

function call(name: string, credential: string): Promise<RawAnswer> {
  const path = `/api/v1/capabilities/${name}`;
  const headers = { ...JSON_TYPE, ...bearer(credential) };
  return askOnce(service.port, 'POST', path, { headers, body: '{}' });
}

describe('a token', { tags: ['token:access', 'setting:GATEWAY_ISSUERS_JSON'] }, () => {
  test('gets rows over REST and MCP, and what its bearer may call is what is listed', async () => {
    const answer = await call('mine', token());
    expect([answer.status, answer.body]).toEqual([200, '{"rows":[{"tenant":"north"}],"count":1}']);
    const { json } = await mcp.modern('tools/call', { name: 'mine' }, { key: token() });
    expect(json).toMatchObject({ result: { structuredContent: { rows: [{ tenant: 'north' }] } } });
    const tools = await mcp.tools({ key: token() });
    expect(tools.map(({ name }) => name)).toEqual(['mine', 'slow']);
  });

  test(
    'of whom not enough is known sees less, and is refused by the agent',
    { tags: ['token:needs'] },
    async () => {
      const key = token({ org: {} });
      expect((await mcp.tools({ key })).map(({ name }) => name)).toEqual(['slow']);
      const { body } = await askOnce(service.port, 'GET', '/openapi.json', { headers: bearer(key) });
      expect(Object.keys(JSON.parse(body).paths)).toEqual(['/api/v1/capabilities/slow']);
      const answer = await call('mine', key);
      expect([answer.status, JSON.parse(answer.body).error.code]).toEqual([403, 'AGENT_PRINCIPAL_REFUSED']);
      const { json } = await mcp.modern('tools/call', { name: 'mine' }, { key });
      expect(json).toMatchObject({ result: { isError: true } });
    },
  );

  test('that is older than the agent takes is to be replaced', { tags: ['token:max-age'] }, async () => {
    const now = Math.floor(Date.now() / 1000);
    const old = token({ iat: now - 7200, exp: now + 60 });
    const expired = expect.stringMatching(
      /^Bearer error="invalid_token", error_description="the access token has expired"/,
    );
    const answer = await call('mine', old);
    expect([answer.status, challengeOf(answer)]).toEqual([401, expired]);
    const overMcp = await askOnce(service.port, 'POST', '/mcp', {
      headers: { ...JSON_TYPE, ...bearer(old) },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'mine' } }),
    });
    expect([overMcp.status, challengeOf(overMcp)]).toEqual([401, expired]);
    const records = (): readonly object[] =>
      recordsOf(service.gateway).filter(({ auth_failure: failure }) => failure === 'max_age');
    await expect.poll(records, { interval: 5 }).toMatchObject([
      { principal: 'token:idp:ann', http_status: 401 },
      { principal: 'token:idp:ann', http_status: 401 },
    ]);
  });
});

test('a key has the claims of its record', { tags: ['key:claims'] }, async () => {
  expect((await call('mine', southKey)).body).toBe('{"rows":[{"tenant":"south"}],"count":1}');
});

test(
  'a refused token, and none, say where to get one',
  { tags: ['token:challenge', 'token:metadata'] },
  async () => {
    const url = 'http://localhost/.well-known/oauth-protected-resource/mcp';
    const none = await askOnce(service.port, 'POST', '/mcp', { headers: JSON_TYPE, body: '{}' });
    expect([none.status, challengeOf(none)]).toEqual([
      401,
      `Bearer resource_metadata="${url}", scope="read"`,
    ]);
    const foreign = await call('mine', token({ aud: 'https://elsewhere.example' }));
    expect([foreign.status, challengeOf(foreign)]).toEqual([
      401,
      expect.stringContaining('error="invalid_token"'),
    ]);
    const { status, body } = await askOnce(service.port, 'GET', new URL(url).pathname);
    expect([status, JSON.parse(body)]).toEqual([
      200,
      {
        resource: 'http://localhost/mcp',
        authorization_servers: [ISSUER],
        scopes_supported: ['read'],
        bearer_methods_supported: ['header'],
      },
    ]);
  },
);

test(
  'a principal has so many calls under way at most, over both APIs, and others have theirs',
  { tags: ['setting:GATEWAY_PRINCIPAL_MAX_CONCURRENT_CALLS'] },
  async () => {
    const leave = new AbortController();
    const slow = (sub: string): Promise<unknown> =>
      service
        .call('slow', {}, { key: null, headers: bearer(token({ sub })), signal: leave.signal })
        .catch(() => 'left');
    const open = [slow('carl'), slow('carl'), slow('dora')];
    const busy = async (): Promise<number> => (await call('mine', token({ sub: 'carl' }))).status;
    await expect.poll(busy, { interval: 5 }).toBe(429);
    const answer = await call('mine', token({ sub: 'carl' }));
    expect(answer.headers).toContainEqual(['retry-after', '1']);
    const { json } = await mcp.modern('tools/call', { name: 'mine' }, { key: token({ sub: 'carl' }) });
    expect(json).toMatchObject({
      result: {
        isError: true,
        content: [{ text: 'Too many calls are under way. Call again in some seconds.' }],
      },
    });
    expect((await call('mine', token({ sub: 'dora' }))).status).toBe(200);
    leave.abort();
    await Promise.all(open);
    await expect.poll(busy, { interval: 5 }).toBe(200);
  },
);

test('metrics tell of remembered tokens', { tags: ['metrics:tokens'] }, async () => {
  const metric = async (name: string): Promise<number> => {
    const { body } = await askOnce(metricsPort, 'GET', '/metrics');
    return Number(new RegExp(`^svc_gateway_token_cache_${name}_total (\\d+)$`, 'm').exec(body)?.[1]);
  };
  const [hits, misses] = [await metric('hits'), await metric('misses')];
  const fresh = token({ jti: 'fresh' });
  await call('mine', fresh);
  await call('mine', fresh);
  expect([await metric('hits'), await metric('misses')]).toEqual([hits + 1, misses + 1]);
});

test('records say whose token it was, and hold nothing else of it', { tags: ['log:principal'] }, async () => {
  const sent = token({ jti: 'token-7', azp: 'app', email: 'ann@private.example', sub: 'eve' });
  await call('mine', sent);
  await expect
    .poll(() => recordsOf(service.gateway).filter(({ token_id: id }) => id === 'token-7'), { interval: 5 })
    .toMatchObject([
      { principal: 'token:idp:eve', issuer: 'idp', subject: 'eve', client_id: 'app', auth_failure: '' },
    ]);
  const log = service.gateway.output('stdout');
  for (const part of [...sent.split('.').slice(1), 'private.example']) expect(log).not.toContain(part);
});

describe('settings', () => {
  const { start, refusal, asKey, common } = gatewaysOfThisFile();

  test('of tokens hold', { tags: ['setting:GATEWAY_TOKEN_CLOCK_SKEW'] }, async () => {
    const now = Math.floor(Date.now() / 1000);
    const expired = {
      headers: { ...JSON_TYPE, ...bearer(token({ iat: now - 100, exp: now - 60 })) },
      body: '{}',
    };
    const statuses: number[] = [];
    for (const skew of ['30s', '2m']) {
      const gateway = await start({ ...tokenEnv, GATEWAY_TOKEN_CLOCK_SKEW: skew });
      statuses.push((await gateway.ask('POST', '/api/v1/capabilities/mine', expired)).status);
    }
    expect(statuses).toEqual([401, 503]);
  });

  test(
    'of keys that are fetched are judged',
    { tags: ['setting:GATEWAY_JWKS_REFRESH', 'setting:GATEWAY_JWKS_MAX_STALE'] },
    async () => {
      const lines = await refusal({ ...tokenEnv, GATEWAY_JWKS_REFRESH: '1s', GATEWAY_JWKS_MAX_STALE: '1s' });
      expect(lines).toEqual([
        expect.stringContaining('GATEWAY_JWKS_REFRESH'),
        expect.stringContaining('GATEWAY_JWKS_MAX_STALE'),
      ]);
    },
  );

  test(
    'of the rate of a principal hold for all its keys together',
    {
      tags: [
        'setting:GATEWAY_PRINCIPAL_RATE_LIMIT_REQUESTS_PER_SECOND',
        'setting:GATEWAY_PRINCIPAL_RATE_LIMIT_BURST',
        'key:principal',
      ],
    },
    async () => {
      const second = await createKey('second', '*');
      const records = [
        common().created.record,
        { ...second.record, principal: common().created.record['name'] },
      ];
      const gateway = await start({
        GATEWAY_API_KEYS_JSON: JSON.stringify(records),
        GATEWAY_PRINCIPAL_RATE_LIMIT_REQUESTS_PER_SECOND: '0.01',
        GATEWAY_PRINCIPAL_RATE_LIMIT_BURST: '2',
      });
      const send = async (headers: Readonly<Record<string, string>>): Promise<number> =>
        (await gateway.ask('POST', CALL, { headers, body: '{}' })).status;
      expect(await send(asKey(JSON_TYPE))).toBe(503);
      expect(await send({ ...JSON_TYPE, 'X-API-Key': second.api_key })).toBe(503);
      expect(await send({ ...JSON_TYPE, 'X-API-Key': 'wrong' })).toBe(401);
      expect(await send(asKey(JSON_TYPE))).toBe(429);
    },
  );

  test(
    'of an issuer whose keys are not known do not hold up API keys',
    { tags: ['error:GATEWAY_ISSUER_UNAVAILABLE'] },
    async () => {
      const records: readonly object[] = JSON.parse(tokenEnv['GATEWAY_ISSUERS_JSON'] ?? '');
      const withoutKeys = records.map((record) => ({ ...record, jwks_file: join(folder.path, 'nothing') }));
      const gateway = await start({ ...tokenEnv, GATEWAY_ISSUERS_JSON: JSON.stringify(withoutKeys) });
      const headers = { ...JSON_TYPE, ...bearer(token()) };
      const answer = await gateway.ask('POST', CALL, { headers, body: '{}' });
      expect([answer.status, codeOf(answer)]).toEqual([503, 'GATEWAY_ISSUER_UNAVAILABLE']);
      expect(answer.headers).toContainEqual(['retry-after', expect.stringMatching(/^[1-9]\d*$/)]);
      const withKey = await gateway.ask('POST', CALL, { headers: asKey(JSON_TYPE), body: '{}' });
      expect(codeOf(withKey)).toBe('GATEWAY_AGENT_OFFLINE');
    },
  );

  test('of keys that have expired', { tags: ['key:expires_at'] }, async () => {
    const records = [{ ...common().created.record, expires_at: '2020-01-01T00:00:00Z' }];
    const gateway = await start({ GATEWAY_API_KEYS_JSON: JSON.stringify(records) });
    expect((await gateway.ask('POST', CALL, { headers: asKey(JSON_TYPE), body: '{}' })).status).toBe(401);
  });
});
