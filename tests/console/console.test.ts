import { createHash } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';
import {
  createAgentSecret,
  runProcess,
  SVC_GATEWAY,
  startGateway,
  startService,
  temporaryFolder,
  testDatabase,
  type Service,
} from '@svc/testkit';
import { CERTIFICATE, CERTIFICATE_KEY } from '../requirements/certificates.testing.ts';
import type { Calls } from '../../packages/console/src/data.ts';
import { askConsole, BEARER, CONSOLE_ENV, consoleUrl, dataOf } from './console.testing.ts';

const CAPABILITIES = `
capabilities:
  echo:
    description: Gives back its number
    sql: select :n as n
    params:
      n: { type: integer, required: true }
    policy: { timeout: 5s }
    result:
      n: { type: integer }
`;
const CALL = '/api/v1/capabilities/echo';
const JSON_BODY = { 'Content-Type': 'application/json' };
const POST = { method: 'POST', body: '{"n":7}' };
const ROWS = '{"rows":[{"n":7}],"count":1}';

/** By a socket, since a client of Node.js refuses to send it. */
async function sendTrailer(at: string): Promise<string> {
  const { hostname, port, host } = new URL(at);
  const socket = connect(Number(port), hostname);
  socket.write(`GET ${CALL} HTTP/1.1\r\nHost: ${host}\r\nTrailer: a\r\nConnection: close\r\n\r\n`);
  let answer = '';
  for await (const chunk of socket.setEncoding('utf8')) answer += chunk;
  return answer;
}

let service: Service;
let url: string;
const keyed = (): Record<string, string> => ({ 'X-API-Key': service.apiKeys['all'] ?? '', ...JSON_BODY });

beforeAll(async () => {
  service = await startService({
    database: await testDatabase(),
    capabilities: CAPABILITIES,
    keys: { reports: 'echo,gone' },
    gatewayEnv: {
      ...CONSOLE_ENV,
      GATEWAY_CONSOLE_PUBLIC: 'true',
      GATEWAY_TRUSTED_PROXY_CIDRS: '127.0.0.0/8',
    },
  });
  url = await consoleUrl(service.gateway);
});
afterAll(() => service.stop());

describe('the pages', { tags: ['console:pages', 'setting:GATEWAY_CONSOLE_PUBLIC'] }, () => {
  test('are at most 60 KB in all', async () => {
    const page = await askConsole(`${url}/console/`, { 'Accept-Encoding': 'gzip' });
    const { text } = await askConsole(`${url}/console/`);
    const paths = [...text.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, path]) => `${url}${path}`);
    const files = await Promise.all(paths.map((path) => askConsole(path, { 'Accept-Encoding': 'gzip' })));
    const sizes = [page, ...files].map(({ headers }) => Number(headers['content-length']));
    expect(sizes.reduce((sum, size) => sum + size)).toBeLessThanOrEqual(60 * 1024);
  });

  test.each(['operator', 'caller'])('of the %s, with their assets', async (mode) => {
    const origin = mode === 'operator' ? url : service.url;
    const page = await askConsole(`${origin}/console/`);
    expect(page.status).toBe(200);
    expect(page.text).toContain(`data-mode="${mode}"`);
    expect(page.headers).toMatchObject({
      'content-type': 'text/html; charset=utf-8',
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'no-referrer',
      'cache-control': 'no-cache',
    });
    const policy = String(page.headers['content-security-policy']);
    for (const part of [
      "default-src 'none'",
      "frame-ancestors 'none'",
      "require-trusted-types-for 'script'",
    ]) {
      expect(policy.split('; ')).toContain(part);
    }
    const paths = [...page.text.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, path]) => path);
    expect(paths).toHaveLength(3);
    for (const path of paths) {
      const plain = await askConsole(`${origin}${path}`);
      expect(plain.headers['cache-control']).toContain('immutable');
      const compressed = await askConsole(`${origin}${path}`, { 'Accept-Encoding': 'gzip' });
      expect([plain.status, compressed.headers['content-encoding']]).toEqual([200, 'gzip']);
    }
    const moved = await askConsole(`${origin}/console`);
    expect([moved.status, moved.headers.location]).toEqual([308, '/console/']);
    expect((await askConsole(`${origin}/console/`, {}, { method: 'POST' })).status).toBe(405);
  });
});

const ACCESS = ['console:access', 'setting:GATEWAY_CONSOLE_ADDR', 'setting:GATEWAY_CONSOLE_TOKEN_SHA256'];
describe('who may look', { tags: ACCESS }, () => {
  const DATA = '/console/data/overview';

  test.each<[string, Record<string, string>, number]>([
    ['a name of somebody else', { Host: 'evil.example' }, 403],
    ['that with a port', { Host: 'evil.example:9091' }, 403],
    ['another address', { Host: '192.0.2.1' }, 403],
    ['localhost, forwarded from another port', { Host: 'localhost:1234' }, 200],
    ['a page of another origin', { Origin: 'https://evil.example' }, 403],
    ['a page without an origin', { Origin: 'null' }, 403],
    ['another site', { 'Sec-Fetch-Site': 'cross-site' }, 403],
    ['another port of this host', { 'Sec-Fetch-Site': 'same-site' }, 403],
    [
      'the page itself',
      { 'Sec-Fetch-Site': 'same-origin', Host: 'localhost:1', Origin: 'http://localhost:1' },
      200,
    ],
  ])('%s', async (_, headers, status) => {
    const answer = await askConsole(`${url}${DATA}`, { ...BEARER, ...headers });
    expect(answer.status).toBe(status);
    if (status === 403) expect(JSON.parse(answer.text).error.code).toBe('GATEWAY_ORIGIN_NOT_ALLOWED');
    const call = await askConsole(`${url}${CALL}`, { ...keyed(), ...BEARER, ...headers }, POST);
    expect(call.status).toBe(status);
  });

  test('a link of another site leads to the page, and to nothing else', async () => {
    const followed = {
      'Sec-Fetch-Site': 'cross-site',
      'Sec-Fetch-Mode': 'navigate',
      'Sec-Fetch-Dest': 'document',
    };
    expect((await askConsole(`${url}/console/`, followed)).status).toBe(200);
    expect((await askConsole(`${url}${DATA}`, { ...BEARER, ...followed })).status).toBe(403);
    const framed = { ...followed, 'Sec-Fetch-Dest': 'iframe' };
    expect((await askConsole(`${url}/console/`, framed)).status).toBe(403);
  });

  test('wrong tokens of a source are counted, and a right one is never refused', async () => {
    const from = (token: string): Record<string, string> => ({
      'X-Forwarded-For': '203.0.113.9',
      Authorization: `Bearer ${token}`,
    });
    for (let count = 0; count < 10; count++) {
      expect((await askConsole(`${url}${DATA}`, from(`wrong-${count}`))).status).toBe(401);
    }
    // Another is allowed each six seconds, also while these are on their way.
    const next = (): ReturnType<typeof askConsole> => askConsole(`${url}${DATA}`, from('wrong'));
    let refused = await next();
    for (let count = 0; count < 100 && refused.status === 401; count++) refused = await next();
    expect(refused.status).toBe(429);
    expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0);
    const right = await askConsole(`${url}${DATA}`, { ...BEARER, 'X-Forwarded-For': '203.0.113.9' });
    expect(right.status).toBe(200);
    expect((await askConsole(`${url}${DATA}`)).status).toBe(401);
    expect((await askConsole(`${url}${DATA}`, { 'X-API-Key': service.apiKeys['all'] ?? '' })).status).toBe(
      401,
    );
    expect((await askConsole(`${url}${DATA}`, BEARER, { method: 'POST' })).status).toBe(405);
    expect((await askConsole(`${url}/console/data/toString`, BEARER)).status).toBe(404);
  });
});

test('calls run through the ordinary path by their API key', { tags: ['console:calls'] }, async () => {
  const both = await askConsole(`${url}${CALL}`, { ...keyed(), ...BEARER }, POST);
  expect([both.status, both.text]).toEqual([200, ROWS]);
  expect(both.headers['content-security-policy']).toContain("default-src 'none'");
  expect((await askConsole(`${url}${CALL}`, keyed(), POST)).text).toBe(ROWS);
  expect((await askConsole(`${url}${CALL}`, { ...BEARER, ...JSON_BODY }, POST)).status).toBe(401);
  const noToken = { ...keyed(), Authorization: `Bearer ${service.apiKeys['all']}` };
  expect((await askConsole(`${url}${CALL}`, noToken, POST)).status).toBe(401);
  const reports = { ...keyed(), ...BEARER, 'X-API-Key': service.apiKeys['reports'] ?? '' };
  expect((await askConsole(`${url}/api/v1/capabilities/other`, reports, POST)).status).toBe(403);
  const described = await askConsole(`${url}/openapi.json`, { ...reports });
  expect(Object.keys(JSON.parse(described.text).paths)).toEqual([CALL]);
  expect((await askConsole(`${url}/mcp`, reports, POST)).status).toBe(404);
  // On the listener of callers two credentials are one too many.
  const publicly = await askConsole(`${service.url}${CALL}`, { ...keyed(), ...BEARER }, POST);
  expect(publicly.status).toBe(400);
});

test('the data tell of calls, keys and agents, and hold no secret', { tags: ['console:data'] }, async () => {
  const id = 'told-of';
  await service.call('echo', { n: 1 }, { key: 'reports', headers: { 'X-Request-Id': id } });
  await service.call('echo', { n: 'secret-value' }, { headers: { 'X-Request-Id': `${id}-2` } });
  const overview = await dataOf(url, 'overview');
  expect(overview).toMatchObject({
    agents: 1,
    step_s: 5,
    warnings: expect.any(Array),
    replica: expect.any(String),
  });
  expect(overview['capabilities']).toEqual([
    expect.objectContaining({ name: 'echo', last_error_code: 'AGENT_INVALID_PARAMS' }),
  ]);
  expect(overview).toMatchObject({ capabilities: [{ series: { calls: { length: 180 } } }] });
  const calls = async (query: string): Promise<unknown> =>
    (await dataOf<Calls>(url, `calls?${query}`)).calls.map((call) => call.request_id);
  expect(await calls('key=reports&capability=echo&status=2xx')).toEqual([id]);
  expect(await calls('error=AGENT_INVALID_PARAMS&capability=echo&status=400')).toEqual([`${id}-2`]);
  expect(await calls('q=TOLD-OF&error=any')).toEqual([`${id}-2`]);
  expect(await calls('q=nowhere')).toEqual([]);
  const keys = await dataOf(url, 'keys');
  expect(keys).toMatchObject({
    keys: [
      { name: 'all', wildcard: true },
      { name: 'reports', permissions: ['echo', 'gone'], unknown_permissions: ['gone'], wildcard: false },
    ],
    capabilities: [{ name: 'echo' }],
  });
  const agents = await dataOf(url, 'agents');
  expect(agents).toMatchObject({
    agents: [{ links: 1, capabilities: 1, source: '127.0.0.1', in_flight: 0, version: '1.0.0' }],
    offers: [{ connected: true, capabilities: ['echo'] }],
  });
  const all = JSON.stringify([overview, keys, agents, await dataOf(url, 'calls')]);
  for (const secret of ['$2', 'secret-value', 'select', ...Object.values(service.apiKeys)]) {
    expect(all).not.toContain(secret);
  }
});

test(
  'workers hand over what they see and take calls of the console',
  { tags: ['console:workers'] },
  async () => {
    const replica = await startService({
      database: await testDatabase(),
      capabilities: CAPABILITIES,
      gatewayEnv: { ...CONSOLE_ENV, GATEWAY_WORKERS: '2', GATEWAY_CONSOLE_PUBLIC: 'true' },
    });
    try {
      const at = await consoleUrl(replica.gateway);
      const headers = { ...BEARER, ...JSON_BODY, 'X-API-Key': replica.apiKeys['all'] ?? '' };
      for (let count = 0; count < 3; count++) {
        expect((await askConsole(`${at}${CALL}`, headers, POST)).text).toBe(ROWS);
      }
      await replica.call('echo', { n: 1 });
      expect((await askConsole(`${replica.url}/console/`)).text).toContain('data-mode="caller"');
      const { calls } = await dataOf<Calls>(at, 'calls');
      expect(calls.map(({ source }) => source)).toEqual(Array(4).fill('127.0.0.1'));
      expect(await dataOf(at, 'agents')).toMatchObject({
        agents: [{ capabilities: 1 }],
        offers: [{ connected: true }],
      });
      expect(await dataOf(at, 'keys')).toMatchObject({ keys: [{ calls: 4, unknown_permissions: [] }] });
      expect(await dataOf(at, 'overview')).toMatchObject({ agents: 1, capabilities: [{ name: 'echo' }] });
      // Sent on without a chunked body, it makes Node.js throw in the primary.
      expect(await sendTrailer(at)).toMatch(/^HTTP\/1\.1 40\d /);
      expect((await dataOf<Calls>(at, 'calls')).calls.length).toBeGreaterThan(0);
    } finally {
      await replica.stop();
    }
  },
);

test(
  'beyond loopback it listens with TLS, and names are checked there, too',
  { tags: ['console:tls'] },
  async () => {
    const folder = await temporaryFolder('console-tls');
    const files = { cert: join(folder.path, 'cert.pem'), key: join(folder.path, 'key.pem') };
    await writeFile(files.cert, CERTIFICATE);
    await writeFile(files.key, CERTIFICATE_KEY);
    const secret = createAgentSecret();
    const { process: gateway } = await startGateway({
      ...CONSOLE_ENV,
      GATEWAY_ADDR: '127.0.0.1:0',
      GATEWAY_AGENT_PUBLIC_KEY: secret.agent_public_key,
      GATEWAY_API_KEYS_JSON: '[]',
      GATEWAY_CONSOLE_ADDR: ':0',
      GATEWAY_TLS_CERT_FILE: files.cert,
      GATEWAY_TLS_KEY_FILE: files.key,
    });
    try {
      const at = await consoleUrl(gateway);
      expect(at).toMatch(/^https:\/\/localhost:/);
      const address = `${at.replace('localhost', '127.0.0.1')}/console/data/overview`;
      expect((await askConsole(address, BEARER)).status).toBe(200);
      expect((await askConsole(address, { ...BEARER, Host: '192.0.2.1:9091' })).status).toBe(200);
      expect((await askConsole(address, { ...BEARER, Host: 'evil.example' })).status).toBe(403);
    } finally {
      await gateway.stop();
      await folder.remove();
    }
  },
);

test(
  'behind a proxy with TLS it listens without',
  { tags: ['setting:GATEWAY_CONSOLE_BEHIND_TLS_PROXY'] },
  async () => {
    const secret = createAgentSecret();
    const { process: gateway } = await startGateway({
      ...CONSOLE_ENV,
      GATEWAY_ADDR: '127.0.0.1:0',
      GATEWAY_AGENT_PUBLIC_KEY: secret.agent_public_key,
      GATEWAY_API_KEYS_JSON: '[]',
      GATEWAY_CONSOLE_ADDR: ':0',
      GATEWAY_CONSOLE_BEHIND_TLS_PROXY: 'true',
    });
    try {
      const at = (await consoleUrl(gateway)).replace('localhost', '127.0.0.1');
      expect(at).toMatch(/^http:/);
      const proxied = { ...BEARER, Origin: 'https://console.example', 'Sec-Fetch-Site': 'same-origin' };
      expect((await askConsole(`${at}/console/data/keys`, proxied)).status).toBe(200);
      const rebound = { ...BEARER, Host: 'evil.example', 'Sec-Fetch-Site': 'same-origin' };
      expect((await askConsole(`${at}/console/data/keys`, rebound)).status).toBe(403);
    } finally {
      await gateway.stop();
    }
  },
);

test(
  'create-console-token prints a token and its hash',
  { tags: ['command:create-console-token'] },
  async () => {
    const run = (...flags: readonly string[]): ReturnType<typeof runProcess> =>
      runProcess(process.execPath, [SVC_GATEWAY, 'create-console-token', ...flags]);
    const { code, stdout } = await run('--json');
    const printed: Readonly<Record<string, string>> = JSON.parse(stdout);
    expect([code, Object.keys(printed)]).toEqual([0, ['console_token', 'console_token_sha256']]);
    const token = printed['console_token'] ?? '';
    expect(Buffer.from(token, 'base64url')).toHaveLength(32);
    expect(createHash('sha256').update(token).digest('hex')).toBe(printed['console_token_sha256']);
    const text = await run();
    expect(text.stdout).toMatch(/GATEWAY_CONSOLE_TOKEN_SHA256=[0-9a-f]{64}\n/);
    expect(text.stdout).not.toContain(token);
  },
);
