import { once } from 'node:events';
import { createServer, get, type IncomingMessage } from 'node:http';
import { createServer as createTlsServer, get as getByTls } from 'node:https';
import {
  connect,
  createServer as createTcpServer,
  type AddressInfo,
  type Server,
  type Socket,
} from 'node:net';
import type { Duplex } from 'node:stream';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import {
  AUTHORITY,
  CERTIFICATE,
  CERTIFICATE_KEY,
} from '../../../../tests/requirements/certificates.testing.ts';
import { connectionsThrough } from './connect-through-proxy.ts';

const servers: Server[] = [];
const sockets = new Set<Socket>();
const TLS = { cert: CERTIFICATE, key: CERTIFICATE_KEY };

async function portOf(server: Server): Promise<number> {
  servers.push(server);
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- of a TCP server
  return (server.address() as AddressInfo).port;
}

/** What a proxy answers CONNECT with; by default it opens the tunnel, to this machine whatever the name. */
type OnConnect = (request: IncomingMessage, client: Duplex) => void;
const asked: IncomingMessage[] = [];
const openTunnel: OnConnect = (request, client) => {
  const upstream = connect(Number(request.url?.split(':').at(-1)), '127.0.0.1', () => {
    client.write('HTTP/1.1 200 Connection established\r\n\r\n');
    upstream.pipe(client).pipe(upstream);
  });
  sockets.add(upstream);
  for (const socket of [client, upstream]) socket.on('error', () => socket.destroy());
};

async function proxyAt(onConnect: OnConnect = openTunnel, byTls = false): Promise<number> {
  const server = byTls ? createTlsServer(TLS) : createServer();
  server.on('connect', (request: IncomingMessage, client: Duplex) => {
    asked.push(request);
    onConnect(request, client);
  });
  return portOf(server);
}

/** The body that the target sends for a path. */
async function fetched(proxy: string, ca?: string, signal = AbortSignal.timeout(20_000)): Promise<string> {
  const createConnection = connectionsThrough({ url: new URL(proxy), ca }, { ca: AUTHORITY }, signal);
  const request = getByTls(`https://localhost:${target}/x`, { createConnection });
  const [response]: IncomingMessage[] = await once(request, 'response');
  return (await response?.setEncoding('utf8').toArray())?.join('') ?? '';
}

let target = 0;
beforeEach(async () => {
  target = await portOf(createTlsServer(TLS, (request, response) => response.end(`at ${request.url}`)));
});
afterEach(() => {
  asked.length = 0;
  for (const socket of sockets) socket.destroy();
  sockets.clear();
  for (const server of servers.splice(0)) server.close();
});

test('a request goes through the tunnel, in which TLS is spoken with its target', async () => {
  const port = await proxyAt();
  expect(await fetched(`http://127.0.0.1:${port}`)).toBe('at /x');
  expect(asked.map(({ url, headers }) => [url, headers['proxy-authorization']])).toEqual([
    [`localhost:${target}`, undefined],
  ]);
});

test('without TLS where the target has none', async () => {
  const plain = await portOf(createServer((_request, response) => response.end('plain')));
  const port = await proxyAt();
  const signal = AbortSignal.timeout(20_000);
  const createConnection = connectionsThrough(
    { url: new URL(`http://127.0.0.1:${port}`) },
    undefined,
    signal,
  );
  const [response]: IncomingMessage[] = await once(
    get(`http://127.0.0.1:${plain}/`, { createConnection }),
    'response',
  );
  expect((await response?.setEncoding('utf8').toArray())?.join('')).toBe('plain');
});

test('the proxy may want TLS, and a user with any password', async () => {
  const port = await proxyAt(openTunnel, true);
  expect(await fetched(`https://user:p%40ss%3Aw%2Frd@localhost:${port}`, AUTHORITY)).toBe('at /x');
  expect(asked[0]?.headers['proxy-authorization']).toBe(
    `Basic ${Buffer.from('user:p@ss:w/rd').toString('base64')}`,
  );
});

test('the certificate of a proxy is judged by the name of the proxy, not by that of the target', async () => {
  const plain = await portOf(createServer((_request, response) => response.end('plain')));
  const url = new URL(`https://localhost:${await proxyAt(openTunnel, true)}`);
  const createConnection = connectionsThrough({ url, ca: AUTHORITY }, undefined, AbortSignal.timeout(20_000));
  const [response]: IncomingMessage[] = await once(
    get(`http://target.example:${plain}/`, { createConnection }),
    'response',
  );
  expect((await response?.setEncoding('utf8').toArray())?.join('')).toBe('plain');
});

test('what the target sends with the answer of the proxy is not lost', async () => {
  const talkative = await portOf(createTcpServer((socket) => socket.write('first')));
  const port = await proxyAt((_request, client) => {
    client.write('HTTP/1.0 200 ok\r\nX-Any: 1\r\n\r\nfirst, second');
  });
  const open = connectionsThrough(
    { url: new URL(`http://127.0.0.1:${port}`) },
    undefined,
    AbortSignal.timeout(20_000),
  );
  const socket = await new Promise<Duplex>((resolve, reject) => {
    open({ host: '127.0.0.1', port: talkative }, (error, opened) =>
      error === null ? resolve(opened) : reject(error),
    );
  });
  const [data]: Buffer[] = await once(socket, 'data');
  expect(String(data)).toBe('first, second');
  socket.destroy();
});

test.each<[string, string, RegExp]>([
  [
    'wants a password',
    'HTTP/1.1 407 x\r\n\r\n',
    /^the proxy 127\.0\.0\.1:\d+ refused CONNECT with status 407: it wants a user and a password/,
  ],
  [
    'does not allow it',
    'HTTP/1.1 403 x\r\nContent-Length: 5\r\n\r\n<html',
    /refused CONNECT with status 403: its rules/,
  ],
  ['cannot reach it', 'HTTP/1.1 502 x\r\n\r\n', /refused CONNECT with status 502$/],
  ['sends nonsense', '\0\0SSH-2.0\r\n\r\n', /opened no tunnel: Parse Error/],
])('a proxy that %s is told of, without its password', async (_what, answer, problem) => {
  const port = await portOf(createTcpServer((socket) => socket.once('data', () => socket.end(answer))));
  const failed = fetched(`http://user:s3cret@127.0.0.1:${port}`);
  await expect(failed).rejects.toThrow(problem);
  await expect(failed).rejects.not.toThrow('s3cret');
});

test('a proxy that is not there, or that hangs up, is told of', async () => {
  const port = await portOf(createTcpServer((socket) => socket.destroy()));
  await expect(fetched(`http://127.0.0.1:${port}`)).rejects.toThrow(
    /^the proxy 127\.0\.0\.1:\d+ opened no tunnel: /,
  );
  await expect(fetched('http://127.0.0.1:1')).rejects.toThrow(
    /^the proxy 127\.0\.0\.1:1 opened no tunnel: .*ECONNREFUSED/,
  );
});

test('a proxy that is silent holds nothing up once the caller gives up', async () => {
  let connected = (): void => {};
  const hung = new Promise<void>((resolve) => (connected = resolve));
  const port = await portOf(createTcpServer(() => connected()));
  const caller = new AbortController();
  const failed = fetched(`http://127.0.0.1:${port}`, undefined, caller.signal);
  failed.catch(() => {});
  await hung;
  caller.abort();
  await expect(failed).rejects.toThrow(/opened no tunnel/);
});

test('a proxy that is silent is given up after ten seconds, whoever waits', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  try {
    let connected = (): void => {};
    const hung = new Promise<void>((resolve) => (connected = resolve));
    const port = await portOf(createTcpServer(() => connected()));
    const failed = fetched(`http://127.0.0.1:${port}`, undefined, new AbortController().signal);
    failed.catch(() => {});
    await hung;
    vi.advanceTimersByTime(10_000);
    await expect(failed).rejects.toThrow(/opened no tunnel: no answer within 10 s/);
  } finally {
    vi.useRealTimers();
  }
});

test('the certificate of the target is judged, not that of the proxy', async () => {
  const port = await proxyAt();
  const url = new URL(`http://127.0.0.1:${port}`);
  const createConnection = connectionsThrough({ url }, {}, AbortSignal.timeout(20_000));
  const request = getByTls(`https://localhost:${target}/x`, { createConnection });
  await expect(once(request, 'response')).rejects.toThrow(/unable to (?:verify|get)|self.signed/);
});
