import { once } from 'node:events';
import { createServer } from 'node:http';
import { listenOnLoopback, startService, testDatabase } from '@svc/testkit';
import { describe, expect, onTestFinished, test } from 'vitest';
import { gatewaysOfThisFile } from './gateways-of-this-file.testing.ts';
import { askOnce, CALL, JSON_TYPE } from './lone-gateway.testing.ts';

const { start, asKey } = gatewaysOfThisFile();

const ask = (body: unknown): { body: string; headers: Record<string, string> } => ({
  body: JSON.stringify(body),
  headers: asKey(JSON_TYPE),
});
const initialize = (protocolVersion: string): unknown => ({
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: { protocolVersion, capabilities: {}, clientInfo: { name: 'test', version: '1' } },
});

describe('what clients of MCP are offered', () => {
  test(
    'without sessions there is no session id, and a made-up one changes nothing',
    { tags: ['setting:GATEWAY_MCP_SESSIONS'] },
    async () => {
      for (const [setting, issued] of [
        [undefined, true],
        ['false', false],
      ] as const) {
        const gateway = await start({ GATEWAY_MCP_SESSIONS: setting });
        const answer = await gateway.ask('POST', '/mcp', ask(initialize('2025-11-25')));
        expect(answer.status).toBe(200);
        expect(answer.header('mcp-session-id') !== undefined).toBe(issued);
      }
    },
  );

  test(
    'revisions that are not listed are neither agreed on nor served',
    { tags: ['setting:GATEWAY_MCP_REVISIONS'] },
    async () => {
      const gateway = await start({ GATEWAY_MCP_REVISIONS: '2025-06-18,2025-03-26' });
      const agreed = async (revision: string): Promise<unknown> =>
        JSON.parse((await gateway.ask('POST', '/mcp', ask(initialize(revision)))).body).result
          .protocolVersion;
      expect(await agreed('2025-03-26')).toBe('2025-03-26');
      for (const other of ['2025-11-25', '2026-07-28', '2024-11-05'])
        expect([other, await agreed(other)]).toEqual([other, '2025-06-18']);
      const { headers, ...listing } = ask({ jsonrpc: '2.0', id: 2, method: 'tools/list' });
      const refused = await gateway.ask('POST', '/mcp', {
        ...listing,
        headers: { ...headers, 'MCP-Protocol-Version': '2025-11-25' },
      });
      expect([refused.status, JSON.parse(refused.body).error.data]).toEqual([
        400,
        { supported: ['2025-06-18', '2025-03-26'], requested: '2025-11-25' },
      ]);
    },
  );
});

test(
  'answered probes are left out of the log where it is told to',
  { tags: ['setting:GATEWAY_LOG_PROBES'] },
  async () => {
    const gateway = await start({ GATEWAY_LOG_PROBES: 'false' });
    expect((await gateway.ask('GET', '/healthz')).status).toBe(200);
    expect((await gateway.ask('GET', '/readyz')).status).toBe(503);
    expect((await gateway.ask('POST', '/healthz')).status).toBe(405);
    expect((await gateway.ask('GET', '/openapi.json')).status).toBe(401);
    expect((await gateway.requests(2)).map(({ route, http_status: status }) => [route, status])).toEqual([
      ['/healthz', 405],
      ['/openapi.json', 401],
    ]);
  },
);

test(
  'what a proxy sends for itself beside X-API-Key is ignored',
  { tags: ['credential:twice'] },
  async () => {
    const gateway = await start();
    const { Authorization: bearer = '', ...rest } = asKey(JSON_TYPE);
    const key = bearer.replace(/^Bearer /, '');
    const status = async (authorization: string): Promise<number> =>
      (
        await gateway.ask('POST', CALL, {
          headers: { ...rest, 'X-API-Key': key, Authorization: authorization },
          body: '{}',
        })
      ).status;
    expect(await status('Basic cHJveHk6cHJveHk=')).toBe(503);
    expect(await status(`Bearer ${'a'.repeat(73)}`)).toBe(503);
    expect(await status(`Bearer ${key}`)).toBe(400);
  },
);

describe('a path in the public URL', { tags: ['setting:GATEWAY_PUBLIC_URL'] }, () => {
  test('may stand before every path, agents and pages included, or not', async () => {
    const service = await startService({
      database: await testDatabase(),
      capabilities: `
capabilities:
  get:
    description: Gives one
    sql: select 1 as n
    result: { n: { type: integer } }
`,
      gatewayEnv: { GATEWAY_PUBLIC_URL: 'http://localhost/base/path', GATEWAY_CONSOLE_PUBLIC: 'true' },
      basePath: '/base/path',
    });
    onTestFinished(() => service.stop());
    for (const prefix of ['', '/base/path']) {
      const call = await askOnce(service.port, 'POST', `${prefix}${CALL}`, {
        headers: { ...JSON_TYPE, 'X-API-Key': service.apiKeys['all'] ?? '' },
        body: '{}',
      });
      expect([call.status, call.body]).toEqual([200, '{"rows":[{"n":1}],"count":1}']);
      const page = await askOnce(service.port, 'GET', `${prefix}/console/`);
      const [, script = ''] = /src="([^"]+)"/.exec(page.body) ?? [];
      expect(script).toMatch(/^\/base\/path\/console\//);
      for (const path of [script, script.slice('/base/path'.length)])
        expect((await askOnce(service.port, 'GET', path)).status).toBe(200);
      const redirect = await askOnce(service.port, 'GET', `${prefix}/console`);
      expect(redirect.header('location')).toBe('/base/path/console/');
    }
  });
});

test.each(['1', '2'])(
  'keys of issuers are fetched by the proxy of the environment, with GATEWAY_WORKERS=%s',
  { tags: ['setting:GATEWAY_ISSUERS_JSON'] },
  async (workers) => {
    const proxy = createServer();
    const port = await listenOnLoopback(proxy);
    onTestFinished(() => void proxy.close());
    const asked = once(proxy, 'connect');
    await start({
      GATEWAY_WORKERS: workers,
      GATEWAY_PUBLIC_URL: 'http://localhost',
      GATEWAY_ISSUERS_JSON: JSON.stringify([
        {
          name: 'far',
          issuer: 'https://idp.test',
          jwks_uri: 'https://keys.idp.test/jwks',
          grants: [{ capabilities: ['*'], scope: 'read' }],
        },
      ]),
      HTTPS_PROXY: `http://user:p%40ss@127.0.0.1:${port}`,
      NO_PROXY: '.example.test',
    });
    const [{ url, headers }, client] = await asked;
    client.destroy();
    expect([url, headers['proxy-authorization']]).toEqual([
      'keys.idp.test:443',
      `Basic ${Buffer.from('user:p@ss').toString('base64')}`,
    ]);
  },
);
