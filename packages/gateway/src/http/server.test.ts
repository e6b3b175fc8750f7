import { dial } from '@svc/testkit';
import { once } from 'node:events';
import { Agent } from 'node:http';
import { afterEach, describe, expect, test } from 'vitest';
import { CallError } from '../core/call-error.ts';
import { createRateLimiter } from '../access/rate-limit.ts';
import { readJsonBody } from './request/json-body.ts';
import { readCredential } from '../auth/credential.ts';
import { ask, CALL, post, silentCalls, startServer, type StartedServer } from './server-by-hand.testing.ts';
import type { Exchange } from './exchange.ts';
import type { Handlers, ServerOptions } from './server.ts';
import { createSourceResolver } from '../network/client-address.ts';
import { cidr } from '../network/cidr.testing.ts';

const started: StartedServer[] = [];
afterEach(async () => {
  await Promise.all(started.splice(0).map((server) => server.close()));
});

async function start(handlers?: Partial<Handlers>, options?: Partial<ServerOptions>): Promise<StartedServer> {
  const server = await startServer(handlers, options);
  started.push(server);
  return server;
}

const code = (text: string): unknown => JSON.parse(text).error.code;
const UUID = /^[0-9a-f]{8}-[0-9a-f-]{27}$/;
describe('every answer', () => {
  test.each([
    ['GET', '/healthz', 200],
    ['GET', '/readyz', 200],
    ['GET', '/openapi.json', 200],
    ['POST', CALL, 200],
    ['GET', '/nothing', 404],
    ['DELETE', '/healthz', 405],
    ['GET', '/ws/agent', 426],
  ])('to %s %s is JSON, names the request and is not stored', async (method, path, status) => {
    const { port, recorded } = await start();
    const answer = await ask(port, path, { method });
    expect(answer.status).toBe(status);
    expect(answer.headers).toMatchObject({
      'content-type': 'application/json',
      'content-length': String(Buffer.byteLength(answer.text)),
      'x-content-type-options': 'nosniff',
      'cache-control': 'no-store',
      'x-request-id': expect.stringMatching(UUID),
    });
    const [record] = await recorded(1);
    expect(record).toMatchObject({
      event: 'request',
      method,
      http_status: status,
      request_id: answer.headers['x-request-id'],
      source: '127.0.0.1',
      api_key_name: '',
      capability: '',
    });
  });

  test.each<[string, string]>([
    ['bytes that are no HTTP', 'hello\r\n\r\n'],
    ['a header that is too large', `GET /healthz HTTP/1.1\r\nHost: h\r\nX: ${'x'.repeat(20_000)}\r\n\r\n`],
    ['two lengths', `POST ${CALL} HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n`],
    ['a request without Host', 'GET /healthz HTTP/1.1\r\n\r\n'],
    ['a request with two hosts', 'GET /healthz HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n'],
    ['the whole URL as target', 'GET http://h/healthz HTTP/1.1\r\nHost: h\r\n\r\n'],
    ['a target that is no path', 'OPTIONS * HTTP/1.1\r\nHost: h\r\n\r\n'],
  ])('to %s is an error in JSON too', async (_title, bytes) => {
    const { port } = await start();
    const client = await dial(port);
    client.send(bytes);
    const [head = '', body = ''] = (await client.until(/\}\}$/)).split('\r\n\r\n');
    expect(head).toMatch(/^HTTP\/1\.1 4(00|31) /);
    expect(head).toMatch(/^x-request-id: \S+$/im);
    expect(head).toMatch(/^x-content-type-options: nosniff$/im);
    expect(head).toMatch(/^cache-control: no-store$/im);
    expect(code(body)).toBe('GATEWAY_INVALID_REQUEST');
    client.socket.destroy();
  });
});

test('HEAD /healthz has the headers of GET and no body', async () => {
  const { port } = await start();
  const client = await dial(port);
  client.send('HEAD /healthz HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n');
  const [head = '', body] = (await client.ended).split('\r\n\r\n');
  expect(head).toMatch(/^HTTP\/1\.1 200 /);
  expect(head).toMatch(/^content-length: 11$/im);
  expect(body).toBe('');
});

test.each([
  ['/healthz', 'GET, HEAD'],
  ['/openapi.json', 'GET, HEAD'],
  [CALL, 'POST'],
])('a wrong method on %s is told which are right', async (path, allow) => {
  const { port } = await start();
  const { status, headers, text } = await ask(port, path, { method: 'PUT' });
  expect(status).toBe(405);
  expect(headers.allow).toBe(allow);
  expect(code(text)).toBe('GATEWAY_METHOD_NOT_ALLOWED');
});

describe('the first check that fails answers', () => {
  const limited = (): Partial<ServerOptions> => ({
    rateLimiter: createRateLimiter({ requestsPerSecond: 0.1, burst: 1, now: () => 0 }),
  });

  test('an address outside the allow list learns nothing else', async () => {
    const resolveSource = createSourceResolver({ allowList: [cidr('10.0.0.0/8')], trustedProxies: [] });
    const { port, recorded } = await start({}, { resolveSource, ...limited() });
    for (const path of ['/healthz', '/nothing', CALL]) {
      const { status, text } = await ask(port, path);
      expect(status).toBe(403);
      expect(code(text)).toBe('GATEWAY_SOURCE_NOT_ALLOWED');
    }
    expect(await recorded(3)).toMatchObject([
      { source: '127.0.0.1', route: '', error_code: 'GATEWAY_SOURCE_NOT_ALLOWED' },
      {},
      {},
    ]);
  });

  test('a forwarding header that names no address is refused', async () => {
    const resolveSource = createSourceResolver({ allowList: undefined, trustedProxies: [cidr('127.0.0.1')] });
    const { port } = await start({}, { resolveSource });
    const { status, text } = await ask(port, '/healthz', { headers: { 'X-Forwarded-For': 'nonsense' } });
    expect(status).toBe(400);
    expect(code(text)).toBe('GATEWAY_INVALID_REQUEST');
  });

  test('the rate limit comes before routing and counts every path', async () => {
    const { port } = await start({}, limited());
    expect((await ask(port, '/nothing')).status).toBe(404);
    for (const path of ['/healthz', '/nothing', '/ws/agent']) {
      const { status, headers, text } = await ask(port, path);
      expect(status).toBe(429);
      expect(headers['retry-after']).toBe('10');
      expect(code(text)).toBe('GATEWAY_RATE_LIMITED');
    }
  });
});

test.each([
  ['the forwarding header', 'X-Forwarded-For: 192.0.2.66', 403],
  ['a second credential', 'Authorization: Bearer a\r\nAuthorization: Bearer b', 400],
])('%s counts behind thousands of others too', async (_title, header, status) => {
  const { port } = await start(
    {
      call: async (exchange) => {
        readCredential(exchange.headers, false);
        exchange.send(200, [], []);
      },
    },
    {
      resolveSource: createSourceResolver({
        allowList: [cidr('127.0.0.1/32')],
        trustedProxies: [cidr('127.0.0.1/32')],
      }),
    },
  );
  const client = await dial(port);
  client.send(post('{}', `${'a:\r\n'.repeat(2100)}${header}\r\n`));
  expect(await client.until(/\r\n\r\n/)).toContain(`HTTP/1.1 ${status} `);
  client.socket.destroy();
});

test.each([
  [
    'after some of the body',
    (exchange: Exchange) => readJsonBody(exchange, { maxBytes: 1000, timeoutMs: 5000 }),
  ],
  ['before any of it', () => Promise.reject(new CallError('GATEWAY_INVALID_REQUEST', 'no'))],
])('a caller that still sends when it is refused %s gets its answer', async (_title, refuse) => {
  const { port } = await start({
    call: async (exchange) => {
      await refuse(exchange);
    },
  });
  const client = await dial(port);
  const errors: Error[] = [];
  client.socket.on('error', (error) => errors.push(error));
  const closed = once(client.socket, 'close');
  client.send(
    `POST ${CALL} HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n`,
  );
  const chunk = `c350\r\n${'x'.repeat(50_000)}\r\n`;
  client.send(chunk);
  expect(await client.until(/"GATEWAY_INVALID_REQUEST".*\}\}$/)).toContain('HTTP/1.1 400 ');
  client.send(chunk.repeat(20));
  client.send('0\r\n\r\n');
  await client.ended;
  client.socket.end();
  await closed;
  expect(errors).toEqual([]);
});

test('an offer to speak HTTP/2 is ignored', async () => {
  const { port, recorded, gateway } = await start({
    call: async (exchange) => {
      const body = await readJsonBody(exchange, { maxBytes: 1000, timeoutMs: 5000 });
      exchange.send(200, [], [body]);
    },
  });
  const client = await dial(port);
  const offer = 'Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n';
  client.send(post('{"a":1}', offer));
  expect(await client.until(/\{"a":1\}$/)).toContain('HTTP/1.1 200 ');
  // From 25 on, Node.js loses what is pipelined behind an offer.
  const pipelined = Number.parseInt(process.versions.node, 10) < 25;
  client.send(post('{"b":2}', offer) + (pipelined ? post('{"c":3}') : ''));
  await client.until(/\{"b":2\}/);
  if (!pipelined) client.send(post('{"c":3}'));
  await client.until(/\{"c":3\}$/);
  expect((await recorded(3)).map((record) => record.http_status)).toEqual([200, 200, 200]);
  client.socket.destroy();
  await expect.poll(() => gateway.inFlight, { interval: 5 }).toBe(0);
});

const H2C = 'Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n';

test.each([
  ['an offer of HTTP/2 again and again', `GET /healthz HTTP/1.1\r\nHost: h\r\n${H2C}\r\n`],
  ['plain requests', 'GET /healthz HTTP/1.1\r\nHost: h\r\n\r\n'],
])('a connection of a worker counts once with %s, and no more once it is closed', async (_name, request) => {
  // Two connections for each of so many workers.
  const { gateway, port } = await start({}, { workers: 10_000 });
  const warnings: Error[] = [];
  const onWarning = (warning: Error): void => void warnings.push(warning);
  process.on('warning', onWarning);
  for (let round = 0; round < 3; round++) {
    const first = await dial(port);
    for (let sent = 1; sent <= 20; sent++) {
      first.send(request);
      await expect
        .poll(() => first.text().match(/HTTP\/1\.1 200 /g)?.length ?? 0, { interval: 1 })
        .toBe(sent);
    }
    const second = await dial(port);
    second.send('GET /healthz HTTP/1.1\r\nHost: h\r\n\r\n');
    await second.until(/\{"ok":true\}$/);
    expect(await (await dial(port)).ended).toBe('');
    first.socket.destroy();
    second.socket.destroy();
    await expect
      .poll(() => new Promise((resolve) => gateway.server.getConnections((_error, count) => resolve(count))))
      .toBe(0);
  }
  process.off('warning', onWarning);
  expect(warnings).toEqual([]);
});

describe('a connection', () => {
  test('serves the next request after an error with a small body that nobody read', async () => {
    const { port } = await start({
      call: async () => {
        throw new CallError('GATEWAY_UNAUTHORIZED', 'a valid API key is required');
      },
    });
    const client = await dial(port);
    client.send(post('x'.repeat(1000)));
    expect(await client.until(/\}\}$/)).toMatch(/^HTTP\/1\.1 401 [^]*^WWW-Authenticate: Bearer\r$/im);
    client.send('GET /healthz HTTP/1.1\r\nHost: h\r\n\r\n');
    await client.until(/\{"ok":true\}$/);
    client.socket.destroy();
  });

  test('is closed after an error with a large body that nobody read, and the caller still gets the answer', async () => {
    const { port, gateway } = await start({
      call: async () => {
        throw new CallError('GATEWAY_UNAUTHORIZED', 'a valid API key is required');
      },
    });
    for (let count = 0; count < 20; count++) {
      const body = Buffer.alloc(5_000_000, 'x');
      const answer = await ask(port, CALL, { method: 'POST', body });
      expect(answer.status).toBe(401);
      expect(answer.headers.connection).toBe('close');
    }
    await expect.poll(() => gateway.inFlight, { interval: 5 }).toBe(0);
  });

  test('that asks before it sends is told to go on only by who wants the body', async () => {
    const { port } = await start({
      call: async (exchange) => {
        if (exchange.headers.apiKey === undefined) {
          throw new CallError('GATEWAY_UNAUTHORIZED', 'a valid API key is required');
        }
        const body = await readJsonBody(exchange, { maxBytes: 100, timeoutMs: 5000 });
        exchange.send(200, [], [body]);
      },
    });
    const head =
      `POST ${CALL} HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\n` +
      'Content-Length: 7\r\nExpect: 100-continue\r\n';
    const unauthenticated = await dial(port);
    unauthenticated.send(`${head}\r\n`);
    expect(await unauthenticated.until(/\}\}$/)).toMatch(/^HTTP\/1\.1 401 /);
    unauthenticated.socket.destroy();

    const caller = await dial(port);
    caller.send(`${head}X-API-Key: k\r\n\r\n`);
    expect(await caller.until(/\r\n\r\n$/)).toBe('HTTP/1.1 100 Continue\r\n\r\n');
    caller.send('{"a":1}');
    expect(await caller.until(/\{"a":1\}$/)).toContain('HTTP/1.1 200 OK');
    caller.socket.destroy();
  });

  test('with an expectation that is not known is served as if there were none', async () => {
    const { port } = await start();
    const { status, headers } = await ask(port, '/healthz', { headers: { Expect: 'miracles' } });
    expect(status).toBe(200);
    expect(headers['x-request-id']).toMatch(UUID);
  });

  test('that asks for a WebSocket on another path is refused and closed, whatever the client does', async () => {
    const { port, gateway, recorded } = await start();
    const client = await dial(port);
    client.send('GET /healthz HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n');
    const text = await client.ended;
    expect(text).toMatch(/^HTTP\/1\.1 400 [^]*^connection: close\r$/im);
    expect(text).toMatch(/^x-request-id: /im);
    expect(await recorded(1)).toMatchObject([{ http_status: 400, route: '/healthz' }]);
    // The client has not ended its side.
    await expect.poll(() => gateway.inFlight, { interval: 5 }).toBe(0);
    client.socket.destroy();
  });

  test('whose second request is no HTTP gets no answer to the first that is not its own', async () => {
    const { handlers, next } = silentCalls();
    const { port, recorded } = await start(handlers);
    const client = await dial(port);
    client.send(`${post('{}')}nonsense\r\n\r\n`);
    const exchange = await next();
    const [record] = await recorded(1);
    expect(record).toMatchObject({ http_status: 499 });
    expect(exchange.signal.aborted).toBe(true);
    expect(await client.ended).toBe('');
    client.socket.destroy();
  });
});

describe('draining', () => {
  test('ends at once when nothing is in flight, and no new connection is accepted', async () => {
    const { gateway, port } = await start();
    await gateway.drain(5000);
    await expect(dial(port)).rejects.toMatchObject({ code: 'ECONNREFUSED' });
  });

  test('waits for what was accepted, whose caller is told to leave', async () => {
    const { handlers, next } = silentCalls();
    const { gateway, port } = await start(handlers);
    const client = await dial(port);
    client.send(post('{}'));
    const exchange = await next();
    let drained = false;
    const draining = gateway.drain(10_000).then(() => {
      drained = true;
    });
    await expect(dial(port)).rejects.toMatchObject({ code: 'ECONNREFUSED' });
    expect(drained).toBe(false);
    exchange.send(200, [], [Buffer.from('{"rows":[],"count":0}')]);
    await draining;
    expect(await client.ended).toMatch(/^HTTP\/1\.1 200 [^]*^connection: close\r$/im);
    client.socket.destroy();
  });

  test('answers all that was pipelined, and closes after the last', async () => {
    const { handlers, next } = silentCalls();
    const { gateway, port } = await start(handlers);
    const client = await dial(port);
    client.send(post('{}') + post('{}'));
    const [first, second] = [await next(), await next()];
    const draining = gateway.drain(10_000);
    client.send(post('{}'));
    const third = await next();
    for (const [at, exchange] of [third, first, second].entries()) {
      exchange.send(200, [], [Buffer.from(String(at))]);
    }
    await draining;
    const text = await client.ended;
    expect(text.match(/(?<=\r\n\r\n)\d/g)).toEqual(['1', '2', '0']);
    expect(text.match(/^connection: .*$/gim)).toEqual(['Connection: close']);
    client.socket.destroy();
  });

  test('ends when its time is up', async () => {
    const { handlers, next } = silentCalls();
    const { gateway, port } = await start(handlers);
    const client = await dial(port);
    client.send(post('{}'));
    await next();
    await gateway.drain(50);
    expect(gateway.inFlight).toBe(1);
    client.socket.destroy();
  });

  test('a request on a connection that was open already is still answered, and the connection closed', async () => {
    const { handlers, next } = silentCalls();
    const { gateway, port } = await start(handlers);
    const [busy, idle] = [await dial(port), await dial(port)];
    // Half a request keeps the connection from being idle.
    idle.send('GET /healthz HTTP/1.1\r\n');
    busy.send(post('{}'));
    const exchange = await next();
    const draining = gateway.drain(10_000);
    idle.send('Host: h\r\n\r\n');
    expect(await idle.ended).toMatch(/^HTTP\/1\.1 200 [^]*^connection: close\r$/im);
    exchange.send(200, [], [Buffer.from('{}')]);
    await draining;
    for (const client of [busy, idle]) client.socket.destroy();
  });
});

test('many requests on kept connections leave nothing behind', async () => {
  const server = await start();
  const agent = new Agent({ keepAlive: true, maxSockets: 4 });
  const answers = await Promise.all(
    Array.from({ length: 200 }, () => ask(server.port, CALL, { method: 'POST', agent })),
  );
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
  expect(new Set(answers.map(({ headers }) => headers['x-request-id'])).size).toBe(200);
  expect(server.gateway.inFlight).toBe(0);
  expect(await server.recorded(200)).toHaveLength(200);
  agent.destroy();
});

describe('pipelined requests', () => {
  const statusesIn = (text: string): string[] =>
    text
      .split('HTTP/1.1 ')
      .slice(1)
      .map((answer) => answer.slice(0, 3));
  const some = (count: number): string => 'GET /healthz HTTP/1.1\r\nHost: h\r\n\r\n'.repeat(count);

  test('are answered up to a hundred, the next is refused, and the connection closed', async () => {
    const { port, gateway, recorded } = await start();
    const client = await dial(port);
    client.send(some(100));
    await expect.poll(() => statusesIn(client.text()).length, { interval: 5 }).toBe(100);
    client.send(some(2000));
    const text = await client.ended;
    expect(statusesIn(text)).toEqual([...Array<string>(200).fill('200'), '429']);
    expect(code(text.slice(text.lastIndexOf('\r\n\r\n')))).toBe('GATEWAY_RATE_LIMITED');
    const records = await recorded(201);
    expect(records).toHaveLength(201);
    expect(records.filter(({ http_status }) => http_status === 429)).toMatchObject([{ source: '127.0.0.1' }]);
    await expect.poll(() => gateway.inFlight, { interval: 5 }).toBe(0);
    client.socket.destroy();
  });

  test('do not keep those of other connections waiting', async () => {
    const served: string[] = [];
    const health = (exchange: Exchange): void => {
      served.push(exchange.requestId);
      exchange.send(200, [], []);
      for (const since = performance.now(); performance.now() - since < 2;);
    };
    const { port } = await start({ health });
    const [greedy, other] = [await dial(port), await dial(port)];
    const named = (id: string): string => `GET /healthz HTTP/1.1\r\nHost: h\r\nX-Request-Id: ${id}\r\n\r\n`;
    greedy.send(named('greedy').repeat(100));
    other.send(named('other'));
    await expect.poll(() => served.length, { interval: 5 }).toBe(101);
    // Begun in the same turn as the first, or after what one turn may take.
    expect(served.indexOf('other')).toBeLessThan(10);
    greedy.socket.destroy();
    other.socket.destroy();
  });

  /** Its head and its body leave apart. */
  const large = `${'x'.repeat(100_000)}END`;

  test('are asked for their body only when the answers before them have been sent', async () => {
    const { handlers, next } = silentCalls();
    const { port } = await start(handlers);
    const client = await dial(port);
    client.send(post('{}') + post('', 'Expect: 100-continue\r\n').replace('Length: 0', 'Length: 4'));
    const [first, second] = [await next(), await next()];
    const body = readJsonBody(second, { maxBytes: 1000, timeoutMs: 10_000 });
    first.send(200, [], [Buffer.from('"first"')]);
    expect(await client.until(/100 Continue/)).toMatch(/"first"HTTP\/1\.1 100 Continue\r\n\r\n$/);
    client.send('null');
    expect(String(await body)).toBe('null');
    second.send(200, [], [Buffer.from(large)]);
    expect(await client.until(/END$/)).toMatch(/100 Continue\r\n\r\nHTTP\/1\.1 200 OK\r\n/);
    client.socket.destroy();
  });

  test('that send their body unasked get no more than their answer', async () => {
    const { handlers, next } = silentCalls();
    const { port } = await start(handlers);
    const client = await dial(port);
    client.send(post('{}') + post('null', 'Expect: 100-continue\r\n'));
    const [first, second] = [await next(), await next()];
    expect(String(await readJsonBody(second, { maxBytes: 1000, timeoutMs: 10_000 }))).toBe('null');
    second.send(200, [], [Buffer.from(large)]);
    first.send(200, [], [Buffer.from('"first"')]);
    const text = await client.until(/END$/);
    expect(text).toMatch(/"first"HTTP\/1\.1 200 OK\r\n/);
    expect(text).not.toContain('100 Continue');
    client.socket.destroy();
  });

  test('end the connection when the requests before them are not answered soon', async () => {
    const { handlers } = silentCalls();
    const { port, gateway, recorded } = await start(handlers);
    const client = await dial(port);
    client.send(post('{}').repeat(100));
    await expect.poll(() => gateway.inFlight, { interval: 5 }).toBe(100);
    client.send(post('{}'));
    expect(await client.ended).toBe('');
    expect(gateway.inFlight).toBe(0);
    const statuses = (await recorded(101)).map(({ http_status }) => http_status);
    expect(statuses.filter((status) => status === 499)).toHaveLength(100);
    expect(statuses.filter((status) => status === 429)).toHaveLength(1);
  });
});

describe('after the last answer', () => {
  // Refused unread, so that its answer is the last.
  const refused =
    'POST /nothing HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n';
  const more = 'GET /healthz HTTP/1.1\r\nHost: h\r\n\r\n';

  test.each([
    ['a request', more],
    ['what is no HTTP', 'no HTTP\r\n\r\n'],
    ['an upgrade', `${more.trimEnd()}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n`],
  ])('%s is not served, and a call that waited is given up', async (_name, behind) => {
    const { port, recorded, requests } = await start();
    const client = await dial(port);
    client.send(refused + post('{}'));
    await client.until(/GATEWAY_NOT_FOUND/);
    client.send(more + behind);
    await recorded(2);
    expect((await client.ended).match(/HTTP\/1\.1 /g)).toHaveLength(1);
    expect(requests().map(({ http_status }) => http_status)).toEqual([404, 499]);
    expect(await ask(port, '/healthz')).toMatchObject({ status: 200 });
  });

  test('what comes does not destroy an answer that the caller has not read yet', async () => {
    const large = 'x'.repeat(300_000);
    const { port, recorded } = await start({
      call: async (exchange) => exchange.send(200, [], [Buffer.from(large)]),
    });
    const client = await dial(port);
    client.socket.pause();
    client.send(post('{}') + refused + post('y'.repeat(60_000)).repeat(30));
    await recorded(2);
    await expect.poll(() => client.socket.writableLength, { interval: 5 }).toBe(0);
    client.socket.resume();
    const text = await client.ended;
    expect(text).toContain(`${large}HTTP/1.1 404 `);
    expect(text).toMatch(/GATEWAY_NOT_FOUND.*\}$/);
  });
});
