import { dial } from '@svc/testkit';
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { afterEach, describe, expect, test } from 'vitest';
import { createRateLimiter } from '../../access/rate-limit.ts';
import { post, startServer, type StartedServer } from '../server-by-hand.testing.ts';
import { createSourceResolver } from '../../network/client-address.ts';
import { cidr } from '../../network/cidr.testing.ts';

let running: StartedServer | undefined;
afterEach(() => running?.close());

async function start(...options: Parameters<typeof startServer>): Promise<StartedServer> {
  running = await startServer(...options);
  return running;
}

/** All that the server says to these bytes until it ends the connection. */
async function answerTo(port: number, bytes: string): Promise<string> {
  const client = await dial(port);
  client.send(bytes);
  const text = await client.ended;
  client.socket.destroy();
  return text;
}

const REFUSED = /^HTTP\/1\.1 400 Bad Request\r\n[^]*"code":"GATEWAY_INVALID_REQUEST"/;
const NONSENSE = 'NO HTTP AT ALL\r\n\r\n';

describe('what is no request', { tags: ['order:unparsable'] }, () => {
  test('is answered and recorded like one', async () => {
    const { port, recorded } = await start();
    const text = await answerTo(port, NONSENSE);
    expect(text).toMatch(REFUSED);
    const [, requestId] = /^x-request-id: (.+)\r$/im.exec(text) ?? [];
    expect(await recorded(1)).toEqual([
      {
        event: 'request',
        request_id: requestId,
        api_key_name: '',
        capability: '',
        http_status: 400,
        method: '',
        route: '',
        source: '127.0.0.1',
        duration_ms: 0,
        error_code: 'GATEWAY_INVALID_REQUEST',
      },
    ]);
  });

  test('because its headers are too large is 431', async () => {
    const { port, recorded } = await start();
    const text = await answerTo(port, `GET /healthz HTTP/1.1\r\nHost: h\r\nA: ${'a'.repeat(17_000)}`);
    expect(text).toMatch(/^HTTP\/1\.1 431 Request Header Fields Too Large\r\n/);
    expect(await recorded(1)).toMatchObject([{ http_status: 431, error_code: 'GATEWAY_INVALID_REQUEST' }]);
  });

  test('teaches nothing to an address outside the allow list', async () => {
    const resolveSource = createSourceResolver({ allowList: [cidr('10.0.0.0/8')], trustedProxies: [] });
    const { port, recorded } = await start({}, { resolveSource });
    const [refused, other] = [
      await answerTo(port, NONSENSE),
      await answerTo(port, 'GET /healthz HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n'),
    ].map((text) => ({ status: text.slice(0, text.indexOf('\r\n')), body: text.split('\r\n\r\n')[1] }));
    expect(refused?.status).toBe('HTTP/1.1 403 Forbidden');
    expect(refused).toEqual(other);
    expect(await recorded(1)).toMatchObject([{ http_status: 403 }, { http_status: 403 }]);
  });

  test('counts against the rate of its source', async () => {
    const rateLimiter = createRateLimiter({ requestsPerSecond: 0.1, burst: 1, now: () => 0 });
    const { port, recorded } = await start({}, { rateLimiter });
    expect(await answerTo(port, NONSENSE)).toMatch(REFUSED);
    const text = await answerTo(port, NONSENSE);
    expect(text).toMatch(/^HTTP\/1\.1 429 [^]*\r\nRetry-After: 10\r\n[^]*"code":"GATEWAY_RATE_LIMITED"/);
    expect(await recorded(2)).toMatchObject([{ http_status: 400 }, { http_status: 429 }]);
  });

  test('since nothing was said gets no answer and no record', async () => {
    const { port, gateway, requests } = await start();
    const connected = once(gateway.server, 'connection');
    const client = await dial(port);
    const [socket]: Socket[] = await connected;
    // As Node.js does when the time for the headers is up.
    const timeout = Object.assign(new Error('too late'), { code: 'ERR_HTTP_REQUEST_TIMEOUT' });
    gateway.server.emit('clientError', timeout, socket);
    expect(await client.ended).toBe('');
    expect(requests()).toEqual([]);
    client.socket.destroy();
  });
});

describe('a transfer encoding that is not supported is refused on every path', () => {
  test.each([
    ['foo', ''],
    ['gzip', ''],
    ['foo, chunked', '0\r\n\r\n'],
    ['chunked\r\nTransfer-Encoding: chunked', '0\r\n\r\n'],
  ])('%j', async (encoding, body) => {
    const { port, recorded } = await start();
    const head = `GET /healthz HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: ${encoding}\r\n\r\n`;
    expect(await answerTo(port, head + body)).toMatch(REFUSED);
    expect(await recorded(1)).toMatchObject([
      { http_status: 400, error_code: 'GATEWAY_INVALID_REQUEST', source: '127.0.0.1' },
    ]);
  });
});

const BROKEN_CHUNKS = 'Transfer-Encoding: chunked\r\n\r\nnonsense\r\n';

test('the answer that was given before the body broke still arrives', async () => {
  const { port, recorded } = await start();
  const text = await answerTo(port, `GET /healthz HTTP/1.1\r\nHost: h\r\n${BROKEN_CHUNKS}`);
  expect(text).toMatch(/^HTTP\/1\.1 200 [^]*\{"ok":true\}$/);
  expect(await recorded(1)).toMatchObject([{ http_status: 200 }]);
});

test('a body that breaks before the answer is what the record says', async () => {
  const { port, recorded } = await start({ call: () => new Promise(() => {}) });
  const [head = ''] = post('').split('Content-Length');
  expect(await answerTo(port, head + BROKEN_CHUNKS)).toMatch(REFUSED);
  expect(await recorded(1)).toMatchObject([{ http_status: 400, error_code: 'GATEWAY_INVALID_REQUEST' }]);
});

test('a connection is closed after a GET where agents connect', async () => {
  const { port } = await start();
  const text = await answerTo(port, 'GET /ws/agent HTTP/1.1\r\nHost: h\r\n\r\n');
  expect(text).toMatch(/^HTTP\/1\.1 426 /);
  expect(text.match(/^connection: .*$/gim)).toEqual(['Connection: Upgrade, close']);
});
