import { createKey } from '@svc/testkit';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { APP, startBooks, type Books } from './books.testing.ts';
import {
  askOnce,
  codeOf,
  gatewayEnvironment,
  JSON_TYPE,
  startLoneGateway,
  type LoneGateway,
} from './lone-gateway.testing.ts';
import { createMcpCaller, type McpCaller } from './mcp-caller.testing.ts';
import { speak, type RawAnswer } from './raw-http.testing.ts';

const PING = { jsonrpc: '2.0', id: 1, method: 'ping' };
const PONG = '{"jsonrpc":"2.0","id":1,"result":{}}';
const PREFLIGHT = { 'Access-Control-Request-Method': 'POST' };
const HEADERS = [
  'authorization',
  'x-api-key',
  'content-type',
  'accept',
  'mcp-protocol-version',
  'mcp-method',
  'mcp-name',
  'mcp-session-id',
  'last-event-id',
  'traceparent',
];

let books: Books;
let port: number;
let key: string;
let mcp: McpCaller;
/** Behind a name of its own, and open to the pages of any origin. */
let named: LoneGateway;
let any: LoneGateway;
/** Listens on every address. */
let everywhere: LoneGateway;
beforeAll(async () => {
  books = await startBooks();
  ({ port } = books.service);
  key = books.keys.get('all') ?? '';
  mcp = createMcpCaller(port, key);
  const created = await createKey('all', '*');
  loneKey = created.api_key;
  const start = async (env: Record<string, string>): Promise<LoneGateway> =>
    await startLoneGateway(await gatewayEnvironment([created.record], env));
  [named, any, everywhere] = await Promise.all([
    start({ GATEWAY_PUBLIC_URL: 'https://gateway.example.com' }),
    start({ GATEWAY_CORS_ALLOWED_ORIGINS: '*' }),
    start({ GATEWAY_ADDR: ':0' }),
  ]);
});
afterAll(() =>
  Promise.all([books.service.stop(), ...[named, any, everywhere].map(({ process }) => process.stop())]),
);
let loneKey: string;

/** A ping with these header lines, `Host` among them. */
function ping(at: number, lines: readonly string[], apiKey = key): Promise<RawAnswer> {
  const text = JSON.stringify(PING);
  const head = ['Content-Type: application/json', `Content-Length: ${text.length}`, ...lines];
  const credential = apiKey === '' ? [] : [`X-API-Key: ${apiKey}`];
  return speak(at, ['POST /mcp HTTP/1.1', ...head, ...credential], text);
}

describe('a preflight', { tags: ['mcp:1'] }, () => {
  test.each(['/mcp', '/mcp/'])('of %s is answered without a key', async (path) => {
    const answer = await askOnce(port, 'OPTIONS', path, { headers: { Origin: APP, ...PREFLIGHT } });
    expect([answer.status, answer.body]).toEqual([204, '']);
    expect(answer.header('access-control-allow-origin')).toBe(APP);
    expect(answer.header('access-control-allow-methods')).toBe('POST');
    const allowed = answer.header('access-control-allow-headers')?.split(',');
    expect(allowed?.map((name) => name.trim().toLowerCase())).toEqual(expect.arrayContaining(HEADERS));
  });

  test('of another origin gets no CORS header', async () => {
    const headers = { Origin: 'https://evil.example', ...PREFLIGHT };
    const answer = await askOnce(port, 'OPTIONS', '/mcp', { headers });
    expect([answer.status, codeOf(answer)]).toEqual([405, 'GATEWAY_METHOD_NOT_ALLOWED']);
    expect(answer.headers.filter(([name]) => name.startsWith('access-control'))).toEqual([]);
  });
});

describe('the page of an origin', { tags: ['mcp:2', 'error:GATEWAY_ORIGIN_NOT_ALLOWED'] }, () => {
  const here = (): string => `Host: 127.0.0.1:${port}`;

  test('that is listed or the own one may call, and so may who has none', async () => {
    for (const lines of [
      [here()],
      [here(), `Origin: ${APP}`],
      [here(), `Origin: http://127.0.0.1:${port}`],
      [`Host: localhost:${port}`, `Origin: http://localhost:${port}`],
      [`Host: [::1]:${port}`, `Origin: http://[::1]:${port}`],
    ]) {
      const { status, body } = await ping(port, lines);
      expect([lines, status, body]).toEqual([lines, 200, PONG]);
    }
    const answer = await ping(port, [here(), `Origin: ${APP}`]);
    expect(answer.header('access-control-allow-origin')).toBe(APP);
  });

  test.each([
    'https://evil.example',
    'null',
    '',
    'http://127.0.0.1:1',
    `${APP}.evil.example`,
    `${APP}:8443`,
    'http://app.example.com',
  ])('%j may not', async (origin) => {
    for (const credential of [key, '']) {
      const answer = await ping(port, [here(), `Origin: ${origin}`], credential);
      expect([answer.status, codeOf(answer)]).toEqual([403, 'GATEWAY_ORIGIN_NOT_ALLOWED']);
      expect(answer.header('access-control-allow-origin')).toBeUndefined();
    }
  });

  test('may not when it is told twice', async () => {
    const answer = await ping(port, [here(), `Origin: ${APP}`, `Origin: ${APP}`]);
    expect([answer.status, codeOf(answer)]).toEqual([403, 'GATEWAY_ORIGIN_NOT_ALLOWED']);
  });

  test.each([
    [200, ['Host: gateway.example.com', 'Origin: https://gateway.example.com']],
    [200, ['Host: 127.0.0.1', 'Origin: https://gateway.example.com']],
    [200, ['Host: gateway.example.com']],
    [200, ['Host: GATEWAY.example.com:443']],
    [403, ['Host: gateway.example.com', 'Origin: http://gateway.example.com']],
    [403, ['Host: gateway.example.com', 'Origin: https://gateway.example.com:8443']],
    [403, ['Host: gateway.example.com.evil.example']],
  ])('of a gateway with a public URL: %i for %j', async (status, lines) => {
    const answer = await ping(named.port, lines, loneKey);
    expect(answer.status).toBe(status);
    if (status === 403) expect(codeOf(answer)).toBe('GATEWAY_ORIGIN_NOT_ALLOWED');
  });

  test.each(['https://evil.example', 'null'])('may be %s when all are listed', async (origin) => {
    const answer = await ping(any.port, ['Host: localhost', `Origin: ${origin}`], loneKey);
    expect([answer.status, answer.body]).toEqual([200, PONG]);
    expect(answer.header('access-control-allow-origin')).toBe('*');
  });
});

describe('the name that was asked for', { tags: ['mcp:2', 'error:GATEWAY_ORIGIN_NOT_ALLOWED'] }, () => {
  test.each(['localhost', 'LOCALHOST:1', 'a.localhost', '127.0.0.1', '127.9.9.9:80', '[::1]', '[::1]:8080'])(
    'is loopback on a loopback listener: %s',
    async (host) => {
      const { status, body } = await ping(port, [`Host: ${host}`]);
      expect([status, body]).toEqual([200, PONG]);
    },
  );

  test.each([
    'evil.example',
    'evil.example:80',
    '127.0.0.1.evil.example',
    'localhost.evil.example',
    'evillocalhost',
    '10.0.0.1',
    '0.0.0.0',
    '[::2]',
    '192.168.0.1:8080',
  ])('or it is refused: %s', async (host) => {
    for (const origin of [[], [`Origin: http://${host}`]]) {
      const answer = await ping(port, [`Host: ${host}`, ...origin], '');
      expect([answer.status, codeOf(answer)]).toEqual([403, 'GATEWAY_ORIGIN_NOT_ALLOWED']);
    }
  });

  test('is free on another listener, but makes no origin the own one', async () => {
    const at = everywhere.port;
    expect((await ping(at, ['Host: evil.example'], loneKey)).body).toBe(PONG);
    expect((await ping(at, [`Host: 10.0.0.1:${at}`, `Origin: http://10.0.0.1:${at}`], loneKey)).body).toBe(
      PONG,
    );
    const answer = await ping(at, ['Host: evil.example', 'Origin: http://evil.example'], loneKey);
    expect([answer.status, codeOf(answer)]).toEqual([403, 'GATEWAY_ORIGIN_NOT_ALLOWED']);
  });
});

describe('without a good key', { tags: ['mcp:3'] }, () => {
  test.each([
    ['none', {}],
    ['a wrong one', { Authorization: 'Bearer svc_0123456789ab_wrong' }],
    ['a wrong X-API-Key', { 'X-API-Key': 'wrong' }],
    ['an empty one', { Authorization: 'Bearer ' }],
  ])('%s: 401 as everywhere', async (_title, headers) => {
    const rest = await askOnce(port, 'GET', '/openapi.json', { headers });
    // Before anything of the body or its type is looked at.
    for (const [type, body] of [
      ['application/json', JSON.stringify(PING)],
      ['text/plain', '{'],
    ] as const) {
      const answer = await askOnce(port, 'POST', '/mcp', {
        headers: { ...headers, 'Content-Type': type },
        body,
      });
      expect([answer.status, answer.body]).toEqual([401, rest.body]);
      expect(codeOf(answer)).toBe('GATEWAY_UNAUTHORIZED');
      expect(answer.header('www-authenticate')).toBe('Bearer');
      expect(answer.header('content-type')).toBe(rest.header('content-type'));
    }
  });

  test('two credentials are refused', async () => {
    const answer = await mcp.post(PING, { headers: { 'X-API-Key': key } });
    expect([answer.status, codeOf(answer)]).toEqual([400, 'GATEWAY_INVALID_REQUEST']);
  });

  test.each([
    ['GET', '/.well-known/oauth-protected-resource'],
    ['GET', '/.well-known/oauth-protected-resource/mcp'],
    ['GET', '/.well-known/oauth-authorization-server'],
    ['GET', '/.well-known/oauth-authorization-server/mcp'],
    ['GET', '/.well-known/openid-configuration'],
    ['GET', '/mcp/.well-known/openid-configuration'],
    ['POST', '/register'],
    ['GET', '/authorize'],
    ['POST', '/token'],
  ])('%s %s offers no other way to get in: a 404 in JSON', async (method, path) => {
    const answer = await askOnce(port, method, path, { headers: JSON_TYPE });
    expect([answer.status, codeOf(answer)]).toEqual([404, 'GATEWAY_NOT_FOUND']);
    expect(answer.header('content-type')).toMatch(/^application\/json/);
  });
});

test('allow list and rate limit come first', { tags: ['mcp:21'] }, async () => {
  const env = {
    GATEWAY_TRUSTED_PROXY_CIDRS: '127.0.0.1',
    GATEWAY_IP_ALLOW_LIST: '10.0.0.0/8',
    GATEWAY_RATE_LIMIT_REQUESTS_PER_SECOND: '0.01',
    GATEWAY_RATE_LIMIT_BURST: '1',
  };
  const gateway = await startLoneGateway(await gatewayEnvironment([], env));
  const from = (source: string): Promise<RawAnswer> =>
    ping(gateway.port, ['Host: evil.example', `X-Forwarded-For: ${source}`], '');
  try {
    const outside = await from('192.0.2.7');
    expect([outside.status, codeOf(outside)]).toEqual([403, 'GATEWAY_SOURCE_NOT_ALLOWED']);
    expect(codeOf(await from('10.0.0.1'))).toBe('GATEWAY_ORIGIN_NOT_ALLOWED');
    const limited = await from('10.0.0.1');
    expect([limited.status, codeOf(limited)]).toEqual([429, 'GATEWAY_RATE_LIMITED']);
    expect(Number(limited.header('retry-after'))).toBeGreaterThan(0);
  } finally {
    await gateway.process.stop();
  }
});

test.each(['GET', 'DELETE', 'HEAD', 'PUT', 'PATCH'])(
  '%s is 405 and names POST, with a key or without',
  { tags: ['mcp:4'] },
  async (method) => {
    for (const path of ['/mcp', '/mcp/', '/mcp?session=1'])
      for (const headers of [{}, { 'X-API-Key': key, Accept: 'text/event-stream' }]) {
        const answer = await askOnce(port, method, path, { headers });
        expect([answer.status, answer.header('allow')]).toEqual([405, 'POST']);
        if (method === 'HEAD') expect(answer.body).toBe('');
        else expect(codeOf(answer)).toBe('GATEWAY_METHOD_NOT_ALLOWED');
      }
  },
);

test(
  'both paths serve, with a query string as well, and nothing redirects',
  { tags: ['mcp:5'] },
  async () => {
    for (const path of ['/mcp', '/mcp/', '/mcp?x=1', '/mcp/?x=1', '/mcp?']) {
      const answer = await mcp.post(PING, { path });
      expect([path, answer.status, answer.body]).toEqual([path, 200, PONG]);
      expect(answer.header('content-type')).toBe('application/json');
      expect(answer.header('location')).toBeUndefined();
    }
    for (const path of ['/mcp//', '/MCP', '/mcp/x', '/mcp%2F', '/v1/mcp', '/sse', '/']) {
      const answer = await mcp.post(PING, { path });
      expect([path, answer.status, codeOf(answer)]).toEqual([path, 404, 'GATEWAY_NOT_FOUND']);
    }
  },
);
