import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { boundConnections } from './serve-console.ts';

const MOST = 4;
let server: Server;
let sockets: Socket[];

beforeEach(async () => {
  sockets = [];
  server = createServer((request, response) => {
    if (request.headers.authorization === 'Bearer right') showToken(request.socket);
    response.end();
  });
  const showToken = boundConnections(server, MOST);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
});
afterEach(() => {
  for (const socket of sockets) socket.destroy();
  server.close();
  server.closeAllConnections();
});

/** A connection that the server has accepted. */
async function dial(): Promise<Socket> {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- it listens on a port
  const { port } = server.address() as AddressInfo;
  const accepted = once(server, 'connection');
  const socket = connect(port, '127.0.0.1');
  socket.on('error', () => {});
  sockets.push(socket);
  await accepted;
  return socket;
}

/** Also of one that is reset. */
function closeOf(socket: Socket | undefined): Promise<string> {
  return new Promise((resolve) => socket?.once('close', () => resolve('closed')));
}

async function ask(socket: Socket, token: string): Promise<string> {
  const answer = once(socket.setEncoding('latin1'), 'data');
  socket.write(`GET / HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${token}\r\n\r\n`);
  const [text] = await answer;
  return text.slice(0, text.indexOf('\r\n'));
}

test('a new connection takes the place of the oldest one that has not shown a right token', async () => {
  const operator = await dial();
  expect(await ask(operator, 'right')).toBe('HTTP/1.1 200 OK');
  const dripping = [await dial(), await dial(), await dial()];
  for (const socket of dripping) socket.write('GET / HTTP/1.1\r\n');
  const ended = closeOf(dripping[0]);
  const another = await dial();
  await ended;
  expect(await ask(another, 'wrong')).toBe('HTTP/1.1 200 OK');
  expect(await ask(operator, 'right')).toBe('HTTP/1.1 200 OK');
  expect(dripping.slice(1).every(({ readyState }) => readyState === 'open')).toBe(true);
});

test('connections that have shown one are closed for no other', async () => {
  const operators: Socket[] = [];
  for (let at = 0; at < MOST; at++) {
    const socket = await dial();
    await ask(socket, 'right');
    operators.push(socket);
  }
  const further = await dial();
  await closeOf(further);
  for (const operator of operators) expect(await ask(operator, 'right')).toBe('HTTP/1.1 200 OK');
  const closed = closeOf(operators[0]);
  operators[0]?.destroy();
  await closed;
  await expect
    .poll(async () => {
      const socket = await dial();
      const answer = ask(socket, 'right').catch(() => 'closed');
      return Promise.race([answer, closeOf(socket)]);
    })
    .toBe('HTTP/1.1 200 OK');
});
