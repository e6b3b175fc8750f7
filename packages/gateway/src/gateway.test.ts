import { randomBytes, randomUUID } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createTokenIssuer, temporaryFolder, type TemporaryFolder } from '@svc/testkit';
import { compareSync } from 'bcryptjs';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { createAgentKey } from './agents/unauthenticated-peer.testing.ts';
import { createKey } from './auth/api-keys/create-key.ts';
import { loadConfig } from './config/load.ts';
import { startGateway, type RunningGateway } from './gateway.ts';
import { createOnlyProcess } from './cluster/replica.ts';
import { ask, type Answer } from './http/server-by-hand.testing.ts';
import type { GatewayEvent, RequestEvent } from './telemetry/events.ts';

const CALL = '/api/v1/capabilities/find_book';
const METADATA = 'https://gateway.example/.well-known/oauth-protected-resource/mcp';
const M = `resource_metadata="${METADATA}"`;
const S = 'scope="library.read"';
const key = createKey({ name: 'reports', capabilities: ['*'], randomBytes });
const agentKey = createAgentKey();

const ISSUER = 'https://idp.example';
const issuer = createTokenIssuer(ISSUER, 'https://gateway.example/mcp');

let folder: TemporaryFolder;
let jwksFile: string;
beforeAll(async () => {
  folder = await temporaryFolder('issuer');
  jwksFile = join(folder.path, 'jwks.json');
  await writeFile(jwksFile, issuer.jwks);
});
afterAll(() => folder.remove());

interface Started {
  readonly gateway: RunningGateway;
  readonly requests: () => readonly RequestEvent[];
  readonly events: readonly GatewayEvent[];
}

const running: RunningGateway[] = [];
afterEach(async () => {
  await Promise.all(running.splice(0).map((gateway) => gateway.shutDown('test')));
});

const usualIssuer = (): object => ({
  name: 'idp',
  issuer: ISSUER,
  jwks_file: jwksFile,
  grants: [{ capabilities: ['find_book'], scope: 'library.read' }],
});

async function start(
  env: Readonly<Record<string, string>> = {},
  issuers: readonly object[] = [usualIssuer()],
): Promise<Started> {
  const loaded = loadConfig(
    {
      GATEWAY_AGENT_PUBLIC_KEY: agentKey.publicKey.toString('base64url'),
      GATEWAY_API_KEYS_JSON: JSON.stringify([key.record]),
      GATEWAY_ADDR: '127.0.0.1:0',
      GATEWAY_PUBLIC_URL: 'https://gateway.example',
      GATEWAY_ISSUERS_JSON: JSON.stringify(issuers),
      ...env,
    },
    () => '',
  );
  if ('faults' in loaded) throw new Error(JSON.stringify(loaded.faults));
  const events: GatewayEvent[] = [];
  const gateway = await startGateway(loaded.config, {
    log: { observe: (event) => void events.push(event), recordsLost: 0 },
    verifier: { verify: async (plaintext, hash) => compareSync(plaintext, hash), close: async () => {} },
    replica: createOnlyProcess(randomUUID(), randomBytes(32)),
    executable: { version: '0', consoleAssets: '' },
  });
  running.push(gateway);
  const requests = (): readonly RequestEvent[] => events.filter((event) => event.event === 'request');
  return { gateway, requests, events };
}

function request(
  { gateway }: Started,
  path: string,
  headers: Record<string, string> = {},
  method = 'POST',
  body: unknown = {},
): Promise<Answer> {
  const withBody = method === 'POST' ? { 'Content-Type': 'application/json' } : {};
  return ask(gateway.port, path, {
    method,
    // The check of `Host` on loopback wants the name of the public URL.
    headers: { Host: 'gateway.example', ...withBody, ...headers },
    ...(method === 'POST' ? { body: JSON.stringify(body) } : {}),
  });
}

const bearer = (credential: string): Record<string, string> => ({ Authorization: `Bearer ${credential}` });
const challengeOf = ({ headers }: Answer): unknown => headers['www-authenticate'];
const errorOf = ({ text }: Answer): { readonly code: string; readonly message: string } =>
  JSON.parse(text).error;
const listTools = { jsonrpc: '2.0', id: 1, method: 'tools/list' };
const ann = { sub: 'ann', jti: 'token-1', client_id: 'app' };
const scoped = (claims: object = {}): string => issuer.token({ ...ann, scope: 'library.read', ...claims });

describe('without an issuer', () => {
  test('a credential of more than 72 bytes is a wrong key, nothing describes the resource, and records are as ever', async () => {
    const started = await start({ GATEWAY_ISSUERS_JSON: '' });
    const answer = await request(started, CALL, bearer(scoped()));
    expect([answer.status, challengeOf(answer), errorOf(answer)]).toEqual([
      401,
      'Bearer',
      {
        code: 'GATEWAY_UNAUTHORIZED',
        message: 'a valid API key is required: Authorization: Bearer <key>, or X-API-Key: <key>',
      },
    ]);
    const path = '/.well-known/oauth-protected-resource/mcp';
    expect((await request(started, path, {}, 'GET')).status).toBe(404);
    for (const record of started.requests()) expect(record).not.toHaveProperty('principal');
  });
});

describe('what is refused says how to go on', () => {
  const paths: readonly (readonly [string, string, string])[] = [
    [CALL, 'POST', M],
    ['/mcp', 'POST', M],
    ['/mcp/', 'POST', `resource_metadata="${METADATA}/"`],
    ['/openapi.json', 'GET', M],
  ];

  test.each(paths)('%s', async (path, method, metadata) => {
    const started = await start();
    const refused = async (headers: Record<string, string>): Promise<readonly unknown[]> => {
      const answer = await request(started, path, headers, method, listTools);
      return [answer.status, challengeOf(answer), errorOf(answer).code];
    };
    const unauthorized = 'GATEWAY_UNAUTHORIZED';
    expect(await refused({})).toEqual([401, `Bearer ${metadata}, ${S}`, unauthorized]);
    const notValid = `Bearer error="invalid_token", error_description="the access token is not valid for this resource", ${metadata}, ${S}`;
    expect(await refused(bearer(scoped({ aud: 'https://other.example' })))).toEqual([
      401,
      notValid,
      unauthorized,
    ]);
    expect(await refused(bearer('x'.repeat(9000)))).toEqual([401, notValid, unauthorized]);
    const past = Math.floor(Date.now() / 1000) - 7200;
    const expired = `Bearer error="invalid_token", error_description="the access token has expired", ${metadata}, ${S}`;
    expect(await refused(bearer(scoped({ iat: past, exp: past + 60 })))).toEqual([
      401,
      expired,
      unauthorized,
    ]);
    // A login would not help who has a key.
    expect(await refused(bearer('wrong'))).toEqual([401, 'Bearer', unauthorized]);
    expect(await refused({ 'X-API-Key': scoped() })).toEqual([401, 'Bearer', unauthorized]);
    const insufficient = `Bearer error="insufficient_scope", ${S}, ${metadata}`;
    expect(await refused(bearer(scoped({ scope: 'library.rea *' })))).toEqual([
      403,
      insufficient,
      'GATEWAY_CAPABILITY_NOT_PERMITTED',
    ]);
    expect(await refused({ ...bearer(scoped()), 'X-API-Key': key.apiKey })).toEqual([
      400,
      undefined,
      'GATEWAY_INVALID_REQUEST',
    ]);
  });

  test('in words that name both credentials', async () => {
    const { message } = errorOf(await request(await start(), CALL));
    expect(message).toContain('access token or API key');
  });

  test('a token that lacks another permission is answered as a key is', async () => {
    const started = await start();
    const answer = await request(started, '/api/v1/capabilities/other', bearer(scoped()));
    expect([answer.status, challengeOf(answer), errorOf(answer).message]).toEqual([
      403,
      undefined,
      'the access token may not call this capability',
    ]);
    // No scope would help where grants look at other claims.
    const byClaim = { ...usualIssuer(), grants: [{ capabilities: ['*'], claim: 'role', value: 'dba' }] };
    const other = await start({}, [byClaim]);
    expect(challengeOf(await request(other, CALL, bearer(scoped())))).toBeUndefined();
    expect((await request(other, CALL, bearer(scoped({ role: ['dba'] })))).status).toBe(503);
  });

  test('an issuer that is not told of is not named, nor are its scopes', async () => {
    const started = await start({}, [{ ...usualIssuer(), advertise: false }]);
    expect(challengeOf(await request(started, CALL))).toBe(`Bearer ${M}`);
    const { text } = await request(started, '/.well-known/oauth-protected-resource', {}, 'GET');
    expect(JSON.parse(text)).toEqual({
      resource: 'https://gateway.example/mcp',
      bearer_methods_supported: ['header'],
    });
  });

  test('an issuer without keys is 503, while keys work', async () => {
    const started = await start({}, [{ ...usualIssuer(), jwks_file: '/nowhere/jwks.json' }]);
    const answer = await request(started, CALL, bearer(scoped()));
    expect([answer.status, errorOf(answer).code]).toEqual([503, 'GATEWAY_ISSUER_UNAVAILABLE']);
    expect(Number(answer.headers['retry-after'])).toBeGreaterThan(0);
    expect(errorOf(await request(started, CALL, bearer(key.apiKey))).code).toBe('GATEWAY_AGENT_OFFLINE');
    expect(started.events).toContainEqual({
      event: 'keys_fetch_failed',
      issuer: 'idp',
      reason: expect.any(String),
      keys_serve: false,
    });
    expect(started.requests()).toMatchObject([
      { issuer: 'idp', auth_failure: 'issuer_unavailable', error_code: 'GATEWAY_ISSUER_UNAVAILABLE' },
      { principal: 'key:reports' },
    ]);
  });
});

describe('the description of the resource', () => {
  const DOCUMENT = {
    resource: 'https://gateway.example/mcp',
    authorization_servers: [ISSUER],
    scopes_supported: ['library.read'],
    bearer_methods_supported: ['header'],
  };
  const WELL_KNOWN = '/.well-known/oauth-protected-resource';

  test.each([
    ['', ''],
    ['/mcp', ''],
    ['/mcp/', '/'],
  ])('is at %j', async (path, slash) => {
    const started = await start();
    const { status, headers, text } = await request(started, WELL_KNOWN + path, {}, 'GET');
    expect([status, headers['access-control-allow-origin'], headers['content-type']]).toEqual([
      200,
      '*',
      'application/json',
    ]);
    expect(JSON.parse(text)).toEqual({ ...DOCUMENT, resource: `${DOCUMENT.resource}${slash}` });
  });

  test('is under the path of the public URL, and without it, whatever the Host', async () => {
    const started = await start({ GATEWAY_PUBLIC_URL: 'https://gateway.example/api' });
    const metadata = `https://gateway.example${WELL_KNOWN}/api/mcp`;
    expect(challengeOf(await request(started, CALL))).toContain(metadata);
    const paths = ['/api/mcp', '/api/mcp/', '/mcp', '/mcp/', ''].map((path) => WELL_KNOWN + path);
    for (const path of [...paths, ...paths.map((after) => `/api${after}`)]) {
      const { status, text } = await request(started, path, { Host: 'evil.example' }, 'GET');
      const slash = path.endsWith('/') ? '/' : '';
      expect([path, status, JSON.parse(text).resource]).toEqual([
        path,
        200,
        `https://gateway.example/api/mcp${slash}`,
      ]);
    }
  });

  test('is read by pages of every origin, whatever CORS says, and changed by none', async () => {
    const started = await start({ GATEWAY_CORS_ALLOWED_ORIGINS: 'https://app.example' });
    const page = { Origin: 'https://inspector.example', 'Access-Control-Request-Method': 'GET' };
    const preflight = await request(started, `${WELL_KNOWN}/mcp`, page, 'OPTIONS');
    expect(preflight.status).toBe(204);
    expect(preflight.headers).toMatchObject({
      'access-control-allow-origin': '*',
      'access-control-allow-methods': 'GET, HEAD, OPTIONS',
      'access-control-allow-headers': expect.stringContaining('mcp-protocol-version'),
    });
    const head = await request(started, `${WELL_KNOWN}/mcp`, page, 'HEAD');
    expect([head.status, head.headers['access-control-allow-origin'], head.text]).toEqual([200, '*', '']);
    const post = await request(started, `${WELL_KNOWN}/mcp`, {});
    expect([post.status, post.headers.allow]).toEqual([405, 'GET, HEAD, OPTIONS']);
  });

  test('is all that is there: no login, no registration', async () => {
    const started = await start();
    const others = [
      '/authorize',
      '/token',
      '/register',
      '/.well-known/oauth-authorization-server',
      `${WELL_KNOWN}/`,
      `${WELL_KNOWN}/other`,
    ];
    for (const path of others)
      expect([path, (await request(started, path, {}, 'GET')).status]).toEqual([path, 404]);
  });

  test('is not for sources that may not call', async () => {
    const started = await start({ GATEWAY_IP_ALLOW_LIST: '192.0.2.0/24' });
    expect((await request(started, `${WELL_KNOWN}/mcp`, {}, 'GET')).status).toBe(403);
  });
});

test('MCP clients are told that machines may get tokens', async () => {
  const meta = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientCapabilities': {},
  };
  const discover = { jsonrpc: '2.0', id: 1, method: 'server/discover', params: { _meta: meta } };
  const headers = {
    ...bearer(scoped()),
    'MCP-Protocol-Version': '2026-07-28',
    'Mcp-Method': 'server/discover',
  };
  const capabilities = async (started: Started): Promise<unknown> =>
    JSON.parse((await request(started, '/mcp', headers, 'POST', discover)).text).result.capabilities;
  expect(await capabilities(await start())).toEqual({
    tools: {},
    extensions: { 'io.modelcontextprotocol/oauth-client-credentials': {} },
  });
});

describe('the record of a request', () => {
  test('says whose token it was, or why it was none, and nothing else of it', async () => {
    const started = await start();
    const token = scoped({ email: 'ann@private.example', azp: 'other' });
    await request(started, CALL, bearer(token));
    await request(started, CALL, bearer(key.apiKey));
    await request(started, CALL, bearer(scoped({ exp: 1, iat: 0 })));
    await request(started, CALL, bearer(`${token}x`));
    await request(started, CALL, bearer(scoped({ scope: undefined })));
    await request(started, CALL);
    await request(started, CALL, bearer('wrong'));
    await request(started, '/healthz', {}, 'GET');
    const nobody = { principal: '', issuer: '', subject: '', client_id: '', token_id: '', api_key_name: '' };
    const known = {
      principal: 'token:idp:ann',
      issuer: 'idp',
      subject: 'ann',
      client_id: 'app',
      token_id: 'token-1',
      api_key_name: '',
    };
    expect(started.requests()).toMatchObject([
      { ...known, auth_failure: '', error_code: 'GATEWAY_AGENT_OFFLINE', capability: 'find_book' },
      { ...nobody, principal: 'key:reports', api_key_name: 'reports', auth_failure: '' },
      { ...nobody, issuer: 'idp', auth_failure: 'expired' },
      { ...nobody, auth_failure: expect.stringMatching(/^(malformed|signature)$/) },
      { ...known, auth_failure: 'insufficient_scope' },
      { ...nobody, auth_failure: 'no_credential' },
      { ...nobody, auth_failure: 'api_key' },
      { ...nobody, auth_failure: '' },
    ]);
    const log = JSON.stringify(started.events);
    for (const secret of [...token.split('.'), 'ann@private', key.apiKey]) expect(log).not.toContain(secret);
  });

  test('has the subject hashed where it shall not be told', async () => {
    const started = await start({}, [{ ...usualIssuer(), log_subject: false }]);
    await request(started, CALL, bearer(scoped()));
    // printf %s ann | openssl dgst -sha256 -binary | basenc --base64url | head -c 22
    const subject = 'SZFeDX1LQC4wF9AQvBwOg8';
    expect(started.requests()).toMatchObject([{ subject, principal: `token:idp:${subject}` }]);
    expect(JSON.stringify(started.requests())).not.toContain('ann');
  });

  test('is one for each entry of a batch, with who sent it', async () => {
    const started = await start();
    const ping = (id: number): object => ({ jsonrpc: '2.0', id, method: 'ping' });
    await request(started, '/mcp', bearer(scoped()), 'POST', [ping(1), ping(2)]);
    expect(started.requests().map(({ principal }) => principal)).toEqual(['token:idp:ann', 'token:idp:ann']);
  });

  test('of what is no HTTP has the same fields', async () => {
    const started = await start();
    await ask(started.gateway.port, '/', { headers: { 'X-Large': 'x'.repeat(20_000) } });
    expect(started.requests()).toMatchObject([{ http_status: 431, principal: '', auth_failure: '' }]);
  });
});

describe('the rate of a principal', () => {
  const rates = {
    GATEWAY_PRINCIPAL_RATE_LIMIT_REQUESTS_PER_SECOND: '0.01',
    GATEWAY_PRINCIPAL_RATE_LIMIT_BURST: '3',
  };

  test('counts after authentication, each principal for itself', async () => {
    const started = await start(rates);
    const statuses = async (credential: string, count: number): Promise<readonly number[]> => {
      const seen: number[] = [];
      for (let at = 0; at < count; at++) seen.push((await request(started, CALL, bearer(credential))).status);
      return seen;
    };
    expect(await statuses('wrong', 5)).toEqual(Array(5).fill(401));
    expect(await statuses(scoped(), 2)).toEqual([503, 503]);
    // Another token of hers is she all the same.
    expect(await statuses(scoped({ jti: 'token-2' }), 2)).toEqual([503, 429]);
    expect(await statuses(scoped({ sub: 'bob' }), 1)).toEqual([503]);
    expect(await statuses(key.apiKey, 4)).toEqual([503, 503, 503, 429]);
    const answer = await request(started, '/openapi.json', bearer(scoped()), 'GET');
    expect([answer.status, errorOf(answer).code]).toEqual([429, 'GATEWAY_RATE_LIMITED']);
    expect(Number(answer.headers['retry-after'])).toBeGreaterThan(90);
  });

  test('counts each entry of a batch', async () => {
    const started = await start(rates);
    const batch = (size: number): Promise<Answer> => {
      const messages = Array.from({ length: size }, (_, id) => ({ jsonrpc: '2.0', id, method: 'ping' }));
      return request(started, '/mcp', bearer(scoped()), 'POST', messages);
    };
    const tooLarge = await batch(4);
    expect([tooLarge.status, JSON.parse(tooLarge.text).error.message]).toEqual([
      400,
      'a batch holds 1 to 3 messages',
    ]);
    expect((await batch(2)).status).toBe(200);
    expect((await batch(1)).status).toBe(429);
  });
});
