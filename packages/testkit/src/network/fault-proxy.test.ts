import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { startFaultProxy, type FaultProxy } from './fault-proxy.ts';
import { isPortFree } from './free-port.ts';

let echo: Server;
let proxy: FaultProxy;
const accepted = new Set<Socket>();

beforeEach(async () => {
  echo = createServer({ allowHalfOpen: true }, (socket) => {
    accepted.add(socket);
    socket.on('error', () => {});
    socket.pipe(socket);
  }).listen({ host: '127.0.0.1', port: 0 });
  await once(echo, 'listening');
  const address = echo.address();
  if (typeof address !== 'object' || address === null) throw new Error('no address');
  proxy = await startFaultProxy({ target: { host: '127.0.0.1', port: address.port } });
});

afterEach(async () => {
  await proxy.close();
  for (const socket of accepted) socket.destroy();
  accepted.clear();
  echo.close();
});

async function client(): Promise<Socket> {
  const socket = connect({ host: proxy.host, port: proxy.port, noDelay: true });
  await once(socket, 'connect');
  return socket;
}

async function reply(socket: Socket, length: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let received = 0;
  await new Promise<void>((resolve, reject) => {
    socket.on('error', reject);
    socket.on('data', (chunk) => {
      chunks.push(chunk);
      received += chunk.length;
      if (received >= length) resolve();
    });
  });
  return Buffer.concat(chunks);
}

test('carries bytes both ways, many and in order, and the end of a stream', async () => {
  const socket = await client();
  const sent = Buffer.alloc(20_000_000, Buffer.from(Array.from({ length: 251 }, (_, index) => index)));
  const answer = reply(socket, sent.length);
  const ended = once(socket, 'end');
  socket.end(sent);
  expect((await answer).equals(sent)).toBe(true);
  await ended;
});

test('delays each direction', async () => {
  const socket = await client();
  proxy.delay(60);
  const started = performance.now();
  const answer = reply(socket, 4);
  socket.write('ping');
  expect((await answer).toString()).toBe('ping');
  expect(performance.now() - started).toBeGreaterThanOrEqual(119);
});

test.each(['to_target', 'to_client', 'both'] as const)('stalls %s and goes on', async (direction) => {
  const socket = await client();
  proxy.stall(direction);
  let received = '';
  socket.on('data', (chunk) => (received += String(chunk)));
  socket.write('held');
  // A second connection that works proves that the first had its time.
  await new Promise((resolve) => setTimeout(resolve, 50));
  expect(received).toBe('');
  expect(socket.closed).toBe(false);
  const answer = reply(socket, 4);
  proxy.resume();
  expect((await answer).toString()).toBe('held');
  socket.destroy();
});

test('a stall holds for connections made during it', async () => {
  proxy.stall('to_client');
  const socket = await client();
  let received = '';
  socket.on('data', (chunk) => (received += String(chunk)));
  socket.write('held');
  await new Promise((resolve) => setTimeout(resolve, 50));
  expect(received).toBe('');
  socket.destroy();
});

test('what is stranded stays silent, and new connections work', async () => {
  const first = await client();
  const answer = reply(first, 1);
  first.write('x');
  await answer;
  proxy.strand();
  let received = '';
  first.on('data', (chunk) => (received += String(chunk)));
  first.write('lost');
  const second = await client();
  const works = reply(second, 2);
  second.write('ok');
  expect((await works).toString()).toBe('ok');
  proxy.stall('both');
  proxy.resume();
  await new Promise((resolve) => setTimeout(resolve, 50));
  expect(received).toBe('');
  first.destroy();
  second.destroy();
});

test('cut resets what is open, and new connections work', async () => {
  const first = await client();
  const failure = once(first, 'error');
  const answer = reply(first, 1).catch(() => undefined);
  first.write('x');
  await answer;
  proxy.cut();
  expect(await failure).toMatchObject([{ code: 'ECONNRESET' }]);
  const second = await client();
  const again = reply(second, 2);
  second.write('ok');
  expect((await again).toString()).toBe('ok');
  second.destroy();
});

test('passes on that the target is not there', async () => {
  const { port } = proxy;
  const nowhere = await startFaultProxy({ target: { host: '127.0.0.1', port: 1 } });
  const socket = connect({ host: nowhere.host, port: nowhere.port });
  await expect(once(socket, 'data')).rejects.toThrow('ECONNRESET');
  await nowhere.close();
  expect(nowhere.connections()).toBe(0);
  expect(await isPortFree(nowhere.port)).toBe(true);
  expect(await isPortFree(port)).toBe(false);
});

test('a limit bounds what a connection carries in a second, until it is lifted', async () => {
  proxy.limit(100_000);
  const socket = await client();
  const sent = Buffer.alloc(50_000, 'x');
  const started = performance.now();
  const slow = reply(socket, sent.length);
  socket.write(sent);
  expect((await slow).equals(sent)).toBe(true);
  expect(performance.now() - started).toBeGreaterThan(450);
  proxy.limit(Infinity);
  const fast = reply(socket, sent.length);
  socket.write(sent);
  await fast;
  expect(performance.now() - started).toBeLessThan(2000);
});
