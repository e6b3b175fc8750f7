import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createKey, dial } from '@svc/testkit';
import {
  CALL,
  codeOf,
  gatewayEnvironment,
  JSON_TYPE,
  startLoneGateway,
  type LoneGateway,
} from './lone-gateway.testing.ts';
import { parseAnswer, speak, type RawAnswer } from './raw-http.testing.ts';

/** Allows 10.0.0.0/8 and one request of each source. */
let guarded: LoneGateway;
let open: LoneGateway;
let key: string;
beforeAll(async () => {
  const created = await createKey('some', 'get');
  key = created.api_key;
  [guarded, open] = await Promise.all([
    startLoneGateway(
      await gatewayEnvironment([created.record], {
        GATEWAY_TRUSTED_PROXY_CIDRS: '127.0.0.1',
        GATEWAY_IP_ALLOW_LIST: '10.0.0.0/8',
        GATEWAY_RATE_LIMIT_REQUESTS_PER_SECOND: '0.02',
        GATEWAY_RATE_LIMIT_BURST: '1',
      }),
    ),
    startLoneGateway(await gatewayEnvironment([created.record])),
  ]);
});
afterAll(() => Promise.all([guarded.process.stop(), open.process.stop()]));

const EVERY_PATH = ['/healthz', '/readyz', '/openapi.json', CALL, '/nothing', '/ws/agent', '/'];
const UPGRADE = [
  'GET /ws/agent HTTP/1.1',
  'Host: h',
  'Upgrade: websocket',
  'Sec-WebSocket-Version: 13',
  `Sec-WebSocket-Key: ${Buffer.alloc(16, 1).toString('base64')}`,
  'Sec-WebSocket-Protocol: svc-agent.v1',
];

function from(source: string, path: string, method = 'GET'): Promise<RawAnswer> {
  return guarded.ask(method, path, { headers: { 'X-Forwarded-For': source } });
}

/** An upgrade of the agent endpoint; the connection is left open by a server that takes it. */
async function upgrade(port: number, ...lines: string[]): Promise<RawAnswer> {
  const connection = await dial(port);
  connection.send(`${[...UPGRADE, 'Connection: Upgrade', ...lines].join('\r\n')}\r\n\r\n`);
  const answer = parseAnswer(await connection.until(/\r\n\r\n/));
  connection.socket.destroy();
  return answer;
}

test(
  'outside the allow list every path is 403, however often',
  {
    tags: [
      'order:source-first',
      'error:GATEWAY_SOURCE_NOT_ALLOWED',
      'health:source-controls',
      'order:ws-agent',
    ],
  },
  async () => {
    for (const path of [...EVERY_PATH, ...EVERY_PATH]) {
      const answer = await from('192.0.2.1', path);
      expect([path, answer.status, codeOf(answer)]).toEqual([path, 403, 'GATEWAY_SOURCE_NOT_ALLOWED']);
      expect(answer.header('retry-after')).toBeUndefined();
    }
    expect((await upgrade(guarded.port, 'X-Forwarded-For: 192.0.2.1')).status).toBe(403);
  },
);

test(
  'over the rate every path is 429, with or without a key',
  {
    tags: [
      'order:rate-before-routing',
      'error:GATEWAY_RATE_LIMITED.source',
      'health:source-controls',
      'order:ws-agent',
    ],
  },
  async () => {
    expect((await from('10.0.0.1', '/nothing')).status).toBe(404);
    for (const path of EVERY_PATH) {
      const answer = await from('10.0.0.1', path, 'PUT');
      expect([path, answer.status, codeOf(answer)]).toEqual([path, 429, 'GATEWAY_RATE_LIMITED']);
      // One request in fifty seconds.
      const wait = answer.header('retry-after') ?? '';
      expect(wait).toMatch(/^\d+$/);
      expect(Number(wait)).toBeGreaterThanOrEqual(45);
      expect(Number(wait)).toBeLessThanOrEqual(50);
    }
    expect((await upgrade(guarded.port, 'X-Forwarded-For: 10.0.0.1')).status).toBe(429);
    // Other sources have their own bucket, and the upgrade counts like any request.
    expect((await upgrade(guarded.port, 'X-Forwarded-For: 10.0.0.2')).status).toBe(101);
    expect((await from('10.0.0.2', '/healthz')).status).toBe(429);
  },
);

describe('without a key', { tags: ['order:routing-before-authentication'] }, () => {
  test.each([
    '/',
    '/nothing',
    '/healthz/',
    '/HEALTHZ',
    '//healthz',
    '/openapi.json/',
    '/api/v1/capabilities',
    '/api/v1/capabilities/',
    '/api/v1/capabilities/get/',
    '/api/v1/capabilities/get/more',
    '/api/v2/capabilities/get',
    '/API/v1/capabilities/get',
    '/ws/agent/',
    '/.well-known/openid-configuration',
    '/%68ealthz',
    '/healthz/../openapi.json',
  ])('%s is 404', { tags: ['error:GATEWAY_NOT_FOUND'] }, async (path) => {
    for (const method of ['GET', 'POST']) {
      const answer = await speak(open.port, [`${method} ${path} HTTP/1.1`, 'Host: h']);
      expect([answer.status, codeOf(answer)]).toEqual([404, 'GATEWAY_NOT_FOUND']);
    }
  });

  test.each([
    ['/healthz', ['POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE'], 'GET, HEAD'],
    ['/readyz', ['POST', 'OPTIONS'], 'GET, HEAD'],
    ['/openapi.json', ['POST', 'PUT', 'DELETE', 'OPTIONS'], 'GET, HEAD'],
    [CALL, ['GET', 'HEAD', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'], 'POST'],
    [`${CALL}?x=1`, ['GET'], 'POST'],
    ['/ws/agent', ['POST', 'HEAD', 'OPTIONS'], 'GET'],
  ])('%s is 405 for %j', { tags: ['error:GATEWAY_METHOD_NOT_ALLOWED'] }, async (path, methods, allow) => {
    for (const method of methods) {
      const answer = await open.ask(method, path);
      expect([method, answer.status]).toEqual([method, 405]);
      expect(answer.header('allow')).toBe(allow);
      if (method !== 'HEAD') expect(codeOf(answer)).toBe('GATEWAY_METHOD_NOT_ALLOWED');
    }
  });

  test('what Allow names works', { tags: ['error:GATEWAY_METHOD_NOT_ALLOWED'] }, async () => {
    for (const path of ['/healthz', '/readyz', '/openapi.json', CALL, '/ws/agent']) {
      const allowed = (await open.ask('PUT', path)).header('allow') ?? '';
      for (const method of allowed.split(', '))
        expect([path, method, (await open.ask(method, path)).status]).not.toContain(405);
    }
  });
});

test(
  'a wrong key is 401, whatever the capability and the body',
  { tags: ['order:authentication-before-authorization'] },
  async () => {
    for (const name of ['get', 'other', 'No-Name', '%24describe']) {
      const answer = await open.ask('POST', `/api/v1/capabilities/${name}`, {
        headers: { 'X-API-Key': 'wrong', 'Content-Type': 'text/plain' },
        body: 'no JSON',
      });
      expect([name, answer.status, codeOf(answer)]).toEqual([name, 401, 'GATEWAY_UNAUTHORIZED']);
    }
  },
);

describe('a capability that is not permitted', { tags: ['order:authorization-before-body'] }, () => {
  test.each([
    ['no JSON', 'application/json', '{'],
    ['another content type', 'text/plain', '{}'],
    ['too large', 'application/json', JSON.stringify({ text: 'x'.repeat(1_100_000) })],
  ])('is 403 when the body is %s', async (_title, type, body) => {
    const answer = await open.ask('POST', '/api/v1/capabilities/other', {
      headers: { 'X-API-Key': key, 'Content-Type': type },
      body,
    });
    expect([answer.status, codeOf(answer)]).toEqual([403, 'GATEWAY_CAPABILITY_NOT_PERMITTED']);
  });

  test('is 403 before any of the body was sent, and no body is asked for', async () => {
    const connection = await dial(open.port);
    connection.send(
      `POST /api/v1/capabilities/other HTTP/1.1\r\nHost: h\r\nX-API-Key: ${key}\r\n` +
        'Content-Type: application/json\r\nExpect: 100-continue\r\nContent-Length: 1000000\r\n\r\n',
    );
    const text = await connection.ended;
    expect(text).not.toContain('100 Continue');
    expect(parseAnswer(text).status).toBe(403);
  });
});

test.each([
  ['no JSON', 'application/json', '{', 400, 'GATEWAY_INVALID_REQUEST'],
  ['another content type', 'text/plain', '{}', 400, 'GATEWAY_INVALID_REQUEST'],
  ['no object', 'application/json', '[]', 400, 'GATEWAY_INVALID_REQUEST'],
  ['fine', 'application/json', '{}', 503, 'GATEWAY_AGENT_OFFLINE'],
])(
  'without an agent a body that is %s (%s)',
  { tags: ['order:body-before-agent', 'state:offline'] },
  async (_title, type, body, status, code) => {
    const answer = await open.ask('POST', CALL, {
      headers: { 'X-API-Key': key, 'Content-Type': type },
      body,
    });
    expect([answer.status, codeOf(answer)]).toEqual([status, code]);
    if (status === 503)
      expect(answer.body).toBe(
        '{"error":{"code":"GATEWAY_AGENT_OFFLINE","message":"agent is not connected"}}',
      );
  },
);

test(
  'an agent that never connected: openapi is 503 for who may ask',
  { tags: ['state:offline'] },
  async () => {
    const answer = await open.ask('GET', '/openapi.json', { headers: { 'X-API-Key': key } });
    expect([answer.status, codeOf(answer)]).toEqual([503, 'GATEWAY_AGENT_OFFLINE']);
    expect((await open.ask('GET', '/openapi.json', { headers: JSON_TYPE })).status).toBe(401);
  },
);

test('a plain GET of /ws/agent is 426', { tags: ['order:ws-agent'] }, async () => {
  const answer = await open.ask('GET', '/ws/agent');
  expect(answer.status).toBe(426);
  expect(answer.header('upgrade')).toBe('websocket');
  codeOf(answer);
  const withOffer = await upgrade(open.port);
  expect(withOffer.status).toBe(101);
});
