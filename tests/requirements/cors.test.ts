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

const APP = 'https://app.example.com';
const LOCAL = 'http://localhost:3000';

let listed: LoneGateway;
let any: LoneGateway;
let off: LoneGateway;
/** Lets one request of each source through, and 192.0.2.7 not at all. */
let guarded: LoneGateway;
let key: string;

beforeAll(async () => {
  const created = await createKey('page', 'get');
  key = created.api_key;
  const start = async (env: Record<string, string>): Promise<LoneGateway> =>
    await startLoneGateway(await gatewayEnvironment([created.record], env));
  [listed, any, off, guarded] = await Promise.all([
    start({
      GATEWAY_CORS_ALLOWED_ORIGINS: `${APP}, ${LOCAL}`,
      GATEWAY_MAX_REQUEST_BODY_BYTES: '100',
      GATEWAY_BODY_READ_TIMEOUT: '200ms',
    }),
    start({ GATEWAY_CORS_ALLOWED_ORIGINS: '*' }),
    start({ GATEWAY_CORS_ALLOWED_ORIGINS: '' }),
    start({
      GATEWAY_CORS_ALLOWED_ORIGINS: APP,
      GATEWAY_TRUSTED_PROXY_CIDRS: '127.0.0.1',
      GATEWAY_IP_ALLOW_LIST: '10.0.0.0/8',
      GATEWAY_RATE_LIMIT_REQUESTS_PER_SECOND: '0.01',
      GATEWAY_RATE_LIMIT_BURST: '1',
    }),
  ]);
});
afterAll(() => Promise.all([listed, any, off, guarded].map((gateway) => gateway.process.stop())));

const PREFLIGHT = {
  'Access-Control-Request-Method': 'POST',
  'Access-Control-Request-Headers': 'authorization,content-type',
};

function corsHeaders(answer: RawAnswer): readonly string[] {
  return answer.headers.map(([name]) => name).filter((name) => name.startsWith('access-control-'));
}

function items(value: string | undefined): readonly string[] {
  return (value ?? '').split(',').map((item) => item.trim());
}

describe('a preflight', () => {
  test.each([
    [CALL, ['POST']],
    ['/openapi.json', ['GET', 'HEAD']],
    ['/healthz', ['GET', 'HEAD']],
    ['/readyz', ['GET', 'HEAD']],
  ])(
    'of %s from an allowed origin is answered without a key',
    { tags: ['cors:preflight', 'order:preflight-before-authentication'] },
    async (path, methods) => {
      const answer = await listed.ask('OPTIONS', path, { headers: { Origin: APP, ...PREFLIGHT } });
      expect(answer.status).toBe(204);
      expect(answer.body).toBe('');
      expect(answer.header('access-control-allow-origin')).toBe(APP);
      expect(items(answer.header('access-control-allow-methods'))).toEqual(methods);
      expect(Number(answer.header('access-control-max-age'))).toBeGreaterThan(0);
      expect(items(answer.header('vary'))).toContain('Origin');
      expect(answer.header('x-request-id')).toMatch(/./);
      expect(answer.header('access-control-allow-credentials')).toBeUndefined();
    },
  );

  test('allows every header that the faces read', { tags: ['cors:preflight'] }, async () => {
    const answer = await listed.ask('OPTIONS', CALL, { headers: { Origin: LOCAL, ...PREFLIGHT } });
    expect(answer.header('access-control-allow-origin')).toBe(LOCAL);
    expect(items(answer.header('access-control-allow-headers'))).toEqual(
      expect.arrayContaining([
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
        'x-request-id',
        'if-none-match',
      ]),
    );
  });

  test('of an unknown path is 404 and readable', { tags: ['cors:order'] }, async () => {
    const answer = await listed.ask('OPTIONS', '/nothing', { headers: { Origin: APP, ...PREFLIGHT } });
    expect(answer.status).toBe(404);
    expect(codeOf(answer)).toBe('GATEWAY_NOT_FOUND');
    expect(answer.header('access-control-allow-origin')).toBe(APP);
  });

  test.each([
    ['without Access-Control-Request-Method', ['Origin: https://app.example.com']],
    ['without an origin', ['Access-Control-Request-Method: POST']],
    [
      'from an origin that is not listed',
      ['Origin: https://evil.example', 'Access-Control-Request-Method: POST'],
    ],
    ['with two origins', [`Origin: ${APP}`, `Origin: ${APP}`, 'Access-Control-Request-Method: POST']],
  ])(
    '%s is an ordinary wrong method',
    { tags: ['cors:refused', 'cors:preflight'] },
    async (_title, lines) => {
      const answer = await speak(listed.port, [`OPTIONS ${CALL} HTTP/1.1`, 'Host: h', ...lines]);
      expect(answer.status).toBe(405);
      expect(answer.header('allow')).toBe('POST');
      expect(codeOf(answer)).toBe('GATEWAY_METHOD_NOT_ALLOWED');
      expect(answer.header('access-control-allow-methods')).toBeUndefined();
    },
  );

  test('comes after the allow list and the rate limit', { tags: ['cors:order'] }, async () => {
    const ask = (from: string): Promise<RawAnswer> =>
      guarded.ask('OPTIONS', CALL, { headers: { Origin: APP, ...PREFLIGHT, 'X-Forwarded-For': from } });
    expect((await ask('10.0.0.1')).status).toBe(204);
    const limited = await ask('10.0.0.1');
    expect(limited.status).toBe(429);
    expect(codeOf(limited)).toBe('GATEWAY_RATE_LIMITED');
    expect((await ask('192.0.2.7')).status).toBe(403);
  });
});

describe('an answer to a listed origin can be read by its page', { tags: ['cors:response'] }, () => {
  const readable = (answer: RawAnswer): void => {
    expect(answer.header('access-control-allow-origin')).toBe(APP);
    expect(items(answer.header('vary'))).toContain('Origin');
    expect(items(answer.header('access-control-expose-headers'))).toEqual(
      expect.arrayContaining(['X-Request-Id', 'Retry-After', 'ETag', 'WWW-Authenticate', 'Mcp-Session-Id']),
    );
  };
  const authorized = (): Record<string, string> => ({ Authorization: `Bearer ${key}`, ...JSON_TYPE });

  test.each([
    ['GET', '/healthz', 200],
    ['HEAD', '/healthz', 200],
    ['GET', '/readyz', 503],
    ['GET', '/openapi.json', 401],
    ['POST', CALL, 401],
    ['GET', CALL, 405],
    ['GET', '/ws/agent', 426],
  ])('%s %s: %i', async (method, path, status) => {
    const answer = await listed.ask(method, path, { headers: { Origin: APP } });
    expect(answer.status).toBe(status);
    readable(answer);
  });

  test.each([
    ['POST', '/api/v1/capabilities/other', '{}', 403],
    ['POST', CALL, '{', 400],
    ['POST', CALL, `{"text":"${'x'.repeat(100)}"}`, 400],
    ['POST', CALL, '{}', 503],
  ])('with a key, %s %s %s: %i', async (method, path, body, status) => {
    const answer = await listed.ask(method, path, { headers: { Origin: APP, ...authorized() }, body });
    expect(answer.status).toBe(status);
    readable(answer);
  });

  test('408', async () => {
    const connection = await dial(listed.port);
    const head = Object.entries({ Origin: APP, ...authorized() }).map(([name, value]) => `${name}: ${value}`);
    connection.send(`POST ${CALL} HTTP/1.1\r\nHost: h\r\n${head.join('\r\n')}\r\nContent-Length: 9\r\n\r\n{`);
    const answer = parseAnswer(await connection.ended);
    expect(answer.status).toBe(408);
    readable(answer);
  });

  test('403 and 429 of the source', async () => {
    const ask = (from: string): Promise<RawAnswer> =>
      guarded.ask('GET', '/healthz', { headers: { Origin: APP, 'X-Forwarded-For': from } });
    readable(await ask('192.0.2.7'));
    await ask('10.0.0.2');
    const limited = await ask('10.0.0.2');
    expect(limited.status).toBe(429);
    readable(limited);
  });
});

test.each([
  'https://evil.example',
  'null',
  'https://app.example.com:8443',
  'http://app.example.com',
  'https://app.example.com/',
  'HTTPS://APP.EXAMPLE.COM',
  'https://app.example.com.evil.example',
  'https://sub.app.example.com',
  `${APP}, ${LOCAL}`,
  '*',
  '',
])('the origin %j is not listed and gets no CORS header', { tags: ['cors:refused'] }, async (Origin) => {
  for (const answer of [
    await listed.ask('GET', '/healthz', { headers: { Origin } }),
    await listed.ask('OPTIONS', CALL, { headers: { Origin, ...PREFLIGHT } }),
  ]) {
    expect(corsHeaders(answer)).toEqual([]);
    // A cache must not give this answer to a page of a listed origin.
    expect(items(answer.header('vary'))).toContain('Origin');
  }
});

test.each([
  ['two equal origins', [`Origin: ${APP}`, `Origin: ${APP}`]],
  ['two origins', [`Origin: ${APP}`, 'Origin: https://evil.example']],
  ['no origin', []],
])('%s get no CORS header, and the answer varies', { tags: ['cors:refused'] }, async (_title, lines) => {
  for (const { port } of [listed, any]) {
    const answer = await speak(port, ['GET /healthz HTTP/1.1', 'Host: h', ...lines]);
    expect(answer.status).toBe(200);
    expect(corsHeaders(answer)).toEqual([]);
    expect(items(answer.header('vary'))).toContain('Origin');
  }
});

test.each([APP, 'https://anything.example', 'http://127.0.0.1:5173', 'null'])(
  'with * the origin %s is allowed',
  { tags: ['cors:any', 'setting:GATEWAY_CORS_ALLOWED_ORIGINS'] },
  async (Origin) => {
    const preflight = await any.ask('OPTIONS', CALL, { headers: { Origin, ...PREFLIGHT } });
    expect(preflight.status).toBe(204);
    const call = await any.ask('POST', CALL, { headers: { Origin } });
    expect(call.status).toBe(401);
    for (const answer of [preflight, call]) {
      expect(answer.header('access-control-allow-origin')).toBe('*');
      expect(items(answer.header('vary'))).toContain('Origin');
    }
  },
);

test(
  'an empty setting turns CORS off: no header, and OPTIONS is a wrong method',
  { tags: ['setting:GATEWAY_CORS_ALLOWED_ORIGINS'] },
  async () => {
    const preflight = await off.ask('OPTIONS', CALL, { headers: { Origin: APP, ...PREFLIGHT } });
    expect(preflight.status).toBe(405);
    expect(preflight.header('allow')).toBe('POST');
    for (const answer of [preflight, await off.ask('GET', '/healthz', { headers: { Origin: APP } })]) {
      expect(corsHeaders(answer)).toEqual([]);
      expect(answer.header('vary')).toBeUndefined();
    }
  },
);

test(
  'exact origins are allowed, and only those',
  { tags: ['setting:GATEWAY_CORS_ALLOWED_ORIGINS'] },
  async () => {
    for (const [Origin, allowed] of [
      [APP, APP],
      [LOCAL, LOCAL],
      ['https://evil.example', undefined],
    ] as const) {
      const answer = await listed.ask('GET', '/healthz', { headers: { Origin } });
      expect(answer.header('access-control-allow-origin')).toBe(allowed);
    }
  },
);
