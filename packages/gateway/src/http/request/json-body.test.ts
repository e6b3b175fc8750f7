import { dial } from '@svc/testkit';
import { afterEach, describe, expect, test } from 'vitest';
import { createBodyBudget, readJsonBody, type BodyBudget } from './json-body.ts';
import { ask, CALL, post, startServer, type StartedServer } from '../server-by-hand.testing.ts';

const MAX_BYTES = 1000;

const started: StartedServer[] = [];
afterEach(async () => {
  await Promise.all(started.splice(0).map((server) => server.close()));
});

/** Answers with the body that it read. */
async function start(timeoutMs = 10_000, budget?: BodyBudget): Promise<StartedServer> {
  const server = await startServer({
    async call(exchange) {
      const body = await readJsonBody(exchange, {
        maxBytes: MAX_BYTES,
        timeoutMs,
        ...(budget === undefined ? {} : { budget }),
      });
      exchange.send(200, [], [body]);
    },
  });
  started.push(server);
  return server;
}

const JSON_TYPE = { 'Content-Type': 'application/json' };
const HEAD = `POST ${CALL} HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\n`;

describe('a body is the same bytes', () => {
  test.each([
    ['empty', Buffer.alloc(0)],
    ['small', Buffer.from('{"name":"Zoë"}')],
    ['as large as it may be', Buffer.alloc(MAX_BYTES, 'x')],
  ])('when it is %s', async (_title, body) => {
    const { port } = await start();
    const { status, text } = await ask(port, CALL, { method: 'POST', headers: JSON_TYPE, body });
    expect(status).toBe(200);
    expect(text).toBe(body.toString());
  });

  test('when it comes byte by byte', async () => {
    const { port } = await start();
    const client = await dial(port);
    const body = '{"name":"Zoë"}';
    client.send(`${HEAD}Content-Length: ${Buffer.byteLength(body)}\r\n\r\n`);
    for (const byte of Buffer.from(body)) {
      client.send(Buffer.of(byte));
      await new Promise(setImmediate);
    }
    expect(await client.until(/\}$/)).toContain('"Zo\u00c3\u00ab"}');
    client.socket.destroy();
  });

  test('when it comes in chunks of unknown length', async () => {
    const { port } = await start();
    const client = await dial(port);
    client.send(`${HEAD}Transfer-Encoding: chunked\r\n\r\n3\r\n{"a\r\n`);
    client.send('4\r\n":1}\r\n0\r\n\r\n');
    expect(await client.until(/\{"a":1\}$/)).toMatch(/^HTTP\/1\.1 200 /);
    // The connection can be used again.
    client.send(post('{"b":2}'));
    await client.until(/\{"b":2\}$/);
    client.socket.destroy();
  });
});

describe('a body that is too large is refused', () => {
  const refused = /^HTTP\/1\.1 400 [^]*"code":"GATEWAY_INVALID_REQUEST","message":"[^"]*1000 bytes"\}\}$/;

  test('by its announced length, before any of it has arrived', async () => {
    const { port } = await start();
    const client = await dial(port);
    client.send(`${HEAD}Content-Length: ${MAX_BYTES + 1}\r\n\r\n`);
    expect(await client.until(refused)).toContain('Content-Type: application/json');
    client.socket.destroy();
  });

  test('by its announced length, when all of it arrives', async () => {
    const { port } = await start();
    const body = Buffer.alloc(3_000_000, 'x');
    const { status, headers } = await ask(port, CALL, { method: 'POST', headers: JSON_TYPE, body });
    expect(status).toBe(400);
    expect(headers.connection).toBe('close');
  });

  test('by its chunks, at the first byte too many', async () => {
    const { port } = await start();
    const client = await dial(port);
    client.send(`${HEAD}Transfer-Encoding: chunked\r\n\r\n3e8\r\n${'x'.repeat(MAX_BYTES)}\r\n1\r\nx`);
    await client.until(refused);
    expect(await client.ended).toMatch(/^connection: close\r$/im);
    client.socket.destroy();
  });
});

describe('a body that is too slow', () => {
  test.each([
    ['announced', 'Content-Length: 100\r\n\r\n', '{'],
    ['chunked', 'Transfer-Encoding: chunked\r\n\r\n', '1\r\n{\r\n'],
  ])('is refused within its time and the connection closed: %s', async (_title, framing, piece) => {
    const { port, recorded } = await start(300);
    const client = await dial(port);
    const begun = performance.now();
    client.send(HEAD + framing);
    // Every piece comes soon after the last, which must not buy any time.
    const trickle = setInterval(() => client.send(piece), 50);
    const text = await client.ended;
    const tookMs = performance.now() - begun;
    clearInterval(trickle);
    expect(text).toMatch(/^HTTP\/1\.1 408 [^]*"code":"GATEWAY_REQUEST_TIMEOUT"/);
    expect(text.match(/^connection: .*$/gim)).toEqual(['Connection: close']);
    expect(tookMs).toBeGreaterThanOrEqual(299);
    expect(tookMs).toBeLessThan(2000);
    expect(await recorded(1)).toMatchObject([{ http_status: 408, error_code: 'GATEWAY_REQUEST_TIMEOUT' }]);
    client.socket.destroy();
  });
});

test('a caller who leaves in the middle of the body is recorded as gone', async () => {
  const { port, recorded, gateway } = await start();
  const client = await dial(port);
  client.send(`${HEAD}Content-Length: 100\r\n\r\n{`);
  await expect.poll(() => gateway.inFlight, { interval: 5 }).toBe(1);
  client.socket.destroy();
  expect(await recorded(1)).toMatchObject([{ http_status: 499, error_code: '' }]);
});

test('chunks that are none are refused', async () => {
  const { port, gateway } = await start();
  const client = await dial(port);
  client.send(`${HEAD}Transfer-Encoding: chunked\r\n\r\nnonsense\r\n`);
  expect(await client.until(/\}\}$/)).toMatch(/^HTTP\/1\.1 400 [^]*"code":"GATEWAY_INVALID_REQUEST"/);
  client.socket.destroy();
  await expect.poll(() => gateway.inFlight, { interval: 5 }).toBe(0);
});

test.each([
  ['application/json', 200],
  ['Application/JSON; charset=UTF-8', 200],
  ['application/json;charset="utf-8"', 200],
  ['application/vnd.example+json', 200],
  ['application/json; charset=latin1', 400],
  ['application/jsonp', 400],
  ['application/x-www-form-urlencoded', 400],
  ['text/plain', 400],
  ['text/json', 400],
  ['', 400],
])('content type %j: %i', async (type, status) => {
  const { port } = await start();
  const answer = await ask(port, CALL, { method: 'POST', headers: { 'Content-Type': type }, body: '{}' });
  expect(answer.status).toBe(status);
});

test.each<[string, Record<string, string | string[]>]>([
  ['no content type', {}],
  ['two content types', { 'Content-Type': ['application/json', 'application/json'] }],
  ['a compressed body', { ...JSON_TYPE, 'Content-Encoding': 'gzip' }],
  ['a transfer encoding other than chunked', { ...JSON_TYPE, 'Transfer-Encoding': 'gzip, chunked' }],
])('%s is refused', async (_title, headers) => {
  const { port } = await start();
  const { status, text } = await ask(port, CALL, { method: 'POST', headers, body: '{}' });
  expect(status).toBe(400);
  expect(JSON.parse(text).error.code).toBe('GATEWAY_INVALID_REQUEST');
});

test('bodies that are still arriving share one budget, and a small body needs none of it', async () => {
  const { port } = await start(10_000, createBodyBudget(1500));
  const half = `${HEAD}Content-Length: 900\r\n\r\n${'x'.repeat(800)}`;
  const first = await dial(port);
  first.send(half);
  await new Promise((resolve) => setTimeout(resolve, 50));
  const second = await dial(port);
  second.send(half);
  const refusal = await second.until(/\}\}$/);
  expect(refusal).toMatch(/^HTTP\/1\.1 429 [^]*"code":"GATEWAY_RATE_LIMITED"/);
  expect(refusal).toMatch(/\r\nRetry-After: 1\r\n/);
  const whole = await ask(port, CALL, { method: 'POST', headers: JSON_TYPE, body: 'x'.repeat(900) });
  expect(whole.status).toBe(200);
  first.socket.destroy();
  await new Promise((resolve) => setTimeout(resolve, 50));
  const third = await dial(port);
  third.send(half);
  third.send('x'.repeat(100));
  expect(await third.until(/x$/)).toMatch(/^HTTP\/1\.1 200 /);
  for (const { socket } of [second, third]) socket.destroy();
});
