import { once } from 'node:events';
import { Agent, createServer, type Server } from 'node:http';
import { connect, type AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { forwardRequest } from './forward.ts';

/** What the server sees: each request, its body and its headers. */
interface Seen {
  readonly line: string;
  readonly body: string;
  readonly headers: Readonly<Record<string, readonly string[] | undefined>>;
}

let seen: Seen[];
let upstream: Server;
let front: Server;
let agent: Agent;

async function listen(server: Server): Promise<number> {
  server.maxHeadersCount = 0;
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return portOf(server);
}

function portOf(server: Server): number {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- it listens on a port
  return (server.address() as AddressInfo).port;
}

beforeEach(async () => {
  seen = [];
  upstream = createServer((request, response) => {
    let body = '';
    request.setEncoding('latin1').on('data', (chunk: string) => (body += chunk));
    request.on('end', () => {
      seen.push({ line: `${request.method} ${request.url}`, body, headers: request.headersDistinct });
      response.setHeader('Connection', ['keep-alive', 'X-Private']);
      response.setHeader('X-Private', 'of this connection');
      response.end('answer');
    });
  });
  agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const to = { host: '127.0.0.1', port: await listen(upstream), agent };
  front = createServer((request, response) => {
    const end = (status: number): void => void response.writeHead(status, { 'Content-Length': 0 }).end();
    forwardRequest(request, response, {
      to,
      added: ['X-Source', 'front'],
      refuse: () => end(400),
      onAway: () => end(503),
    });
  });
  await listen(front);
});
afterEach(() => {
  agent.destroy();
  for (const server of [front, upstream]) {
    server.close();
    server.closeAllConnections();
  }
});

/** All that is answered to these bytes until the connection ends, as the status of each answer. */
async function statusesOf(bytes: string): Promise<readonly number[]> {
  const socket = connect(portOf(front), '127.0.0.1');
  let text = '';
  socket.setEncoding('latin1').on('data', (chunk: string) => (text += chunk));
  socket.on('error', () => {});
  socket.write(bytes, 'latin1');
  await once(socket, 'close');
  return Array.from(text.matchAll(/HTTP\/1\.1 (\d{3}) /g), ([, status]) => Number(status));
}

const SMUGGLED = 'GET /smuggled HTTP/1.1\r\nHost: localhost\r\n\r\n';
const LENGTH = SMUGGLED.length;
const CHUNKS = `${LENGTH.toString(16)}\r\n${SMUGGLED}\r\n0\r\n\r\n`;
const FILLER = 'X-Filler: 1\r\n'.repeat(1100);
/** Ends the connection, so that all answers are known. */
const LAST = 'GET /last HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n';

function head(method: string, headers: string, target = '/asked'): string {
  return `${method} ${target} HTTP/1.1\r\nHost: localhost\r\n${headers}\r\n`;
}

describe('a body stays the body of its request', () => {
  describe.each(['GET', 'DELETE', 'OPTIONS', 'POST'])('of %s', (method) => {
    test.each([
      ['in chunks', 'Transfer-Encoding: chunked\r\n', CHUNKS],
      ['in chunks, after 1,100 headers', `${FILLER}Transfer-Encoding: chunked\r\n`, CHUNKS],
      ['with a length, after 1,100 headers', `${FILLER}Content-Length: ${LENGTH}\r\n`, SMUGGLED],
      [
        'in chunks that Connection names',
        'Connection: transfer-encoding\r\nTransfer-Encoding: chunked\r\n',
        CHUNKS,
      ],
      [
        'with a length that Connection names',
        `Connection: keep-alive, Content-Length\r\nContent-Length: ${LENGTH}\r\n`,
        SMUGGLED,
      ],
      ['before which the sender waits', `Expect: 100-continue\r\nContent-Length: ${LENGTH}\r\n`, SMUGGLED],
      [
        'with trailers',
        'Trailer: X-Late\r\nTE: trailers\r\nTransfer-Encoding: chunked\r\n',
        `${CHUNKS.slice(0, -2)}X-Late: 1\r\n\r\n`,
      ],
    ])('%s', async (_how, headers, body) => {
      expect(
        (await statusesOf(head(method, headers) + body + LAST)).filter((status) => status !== 100),
      ).toEqual([200, 200]);
      expect(seen.map(({ line, body: got }) => [line, got])).toEqual([
        [`${method} /asked`, SMUGGLED],
        ['GET /last', ''],
      ]);
    });
  });

  test.each([
    ['TE and CL', `Transfer-Encoding: chunked\r\nContent-Length: ${LENGTH}\r\n`, CHUNKS],
    ['CL and TE', `Content-Length: 4\r\nTransfer-Encoding: chunked\r\n`, CHUNKS],
    ['two lengths', `Content-Length: 0\r\nContent-Length: ${LENGTH}\r\n`, SMUGGLED],
    ['two encodings', 'Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n', CHUNKS],
    ['a further encoding', 'Transfer-Encoding: gzip, chunked\r\n', CHUNKS],
    ['another encoding', 'Transfer-Encoding: gzip\r\n', CHUNKS],
    ['a folded header', 'X-Folded: 1\r\n 2\r\nTransfer-Encoding: chunked\r\n', CHUNKS],
    ['a folded encoding', 'Transfer-Encoding:\r\n chunked\r\n', CHUNKS],
    ['an encoding that is misspelt', 'Transfer-Encoding: xchunked\r\n', CHUNKS],
    ['headers beyond 16 KiB', `X-Filler: ${'1'.repeat(17_000)}\r\nTransfer-Encoding: chunked\r\n`, CHUNKS],
  ])('or the request is refused: %s', async (how, headers, body) => {
    for (const method of ['GET', 'POST']) {
      const [status, ...others] = await statusesOf(head(method, `${headers}Connection: close\r\n`) + body);
      expect([status, others]).toEqual([how === 'headers beyond 16 KiB' ? 431 : 400, []]);
    }
    expect(seen).toEqual([]);
  });

  test('also to HTTP/1.0, which knows no chunks', async () => {
    const text = `POST /asked HTTP/1.0\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n${CHUNKS}`;
    expect(await statusesOf(text)).toEqual([400]);
    expect(seen).toEqual([]);
  });

  test('of an upgrade, which is not forwarded', async () => {
    const upgrade = 'Connection: Upgrade\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAARAAAAA\r\n';
    const socket = connect(portOf(front), '127.0.0.1');
    socket.write(head('POST', `${upgrade}Content-Length: ${LENGTH}\r\n`) + SMUGGLED);
    const [answer] = await once(socket.setEncoding('latin1'), 'data');
    socket.destroy();
    expect(answer).toMatch(/^HTTP\/1\.1 200 /);
    expect(seen).toMatchObject([{ line: 'POST /asked', body: SMUGGLED }]);
    expect(Object.keys(seen[0]?.headers ?? {})).toEqual(['host', 'x-source', 'content-length', 'connection']);
  });

  test('when the sender leaves in the middle of it', async () => {
    const socket = connect(portOf(front), '127.0.0.1');
    const arrived = once(upstream, 'request');
    socket.write(head('POST', 'Content-Length: 1000\r\n') + SMUGGLED);
    const [request] = await arrived;
    request.on('error', () => {});
    const closed = new Promise((resolve) => request.once('close', resolve));
    socket.destroy();
    await closed;
    expect(await statusesOf(LAST)).toEqual([200]);
    expect(seen.map(({ line }) => line)).toEqual(['GET /last']);
  });

  test('when other requests follow it at once', async () => {
    const body = head('POST', `Content-Length: ${LENGTH}\r\n`) + SMUGGLED;
    expect(await statusesOf(body.repeat(3) + LAST)).toEqual([200, 200, 200, 200]);
    expect(seen.map(({ line, body: got }) => [line, got])).toEqual([
      ...Array.from({ length: 3 }, () => ['POST /asked', SMUGGLED]),
      ['GET /last', ''],
    ]);
  });
});

test('what belongs to a connection stays there', async () => {
  const own = [
    'Connection: close, X-Named,x-other',
    'Keep-Alive: timeout=5',
    'Proxy-Connection: keep-alive',
    'Proxy-Authorization: Basic YTpi',
    'TE: trailers',
    'X-Named: 1',
    'X-Other: 1',
    'X-Source: the sender',
    'X-Kept: 1',
  ];
  expect(await statusesOf(head('GET', `${own.join('\r\n')}\r\n`))).toEqual([200]);
  expect(seen[0]?.headers).toEqual({
    host: ['localhost'],
    connection: ['keep-alive'],
    'x-source': ['front'],
    'x-kept': ['1'],
  });
});
