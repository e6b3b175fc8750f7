import { createServer, type AddressInfo, type Socket } from 'node:net';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { temporaryFolder } from '@svc/testkit';
import { expect, onTestFinished, test } from 'vitest';
import { configure } from './config.ts';
import { openSession } from './connection/session.ts';

const PASSWORD = 'canary-password';
const OK = Buffer.from([0, 0, 0, 2, 0, 0, 0]);
/** CONNECT_WITH_DB, LOCAL_FILES, PROTOCOL_41, SECURE_CONNECTION and PLUGIN_AUTH. */
const CAPABILITIES = 0x8 | 0x80 | 0x200 | 0x8000 | 0x80000;

function greeting(): Buffer {
  const numbers = Buffer.alloc(18);
  numbers.writeUInt16LE(CAPABILITIES & 0xffff, 0);
  numbers.writeUInt8(45, 2);
  numbers.writeUInt16LE(2, 3);
  numbers.writeUInt16LE(CAPABILITIES >>> 16, 5);
  numbers.writeUInt8(21, 7);
  return Buffer.concat([
    Buffer.from('\n8.4.0\0\x01\0\0\0saltsalt\0', 'latin1'),
    numbers,
    Buffer.from('saltsaltsalt\0mysql_native_password\0', 'latin1'),
  ]);
}

function packet(sequence: number, payload: Buffer): Buffer {
  const head = Buffer.alloc(4);
  head.writeUIntLE(payload.length, 0, 3);
  head.writeUInt8(sequence, 3);
  return Buffer.concat([head, payload]);
}

/** A server that means ill, and all that the agent has sent to it. */
async function hostileServer(
  answer: (socket: Socket, packets: number) => void,
): Promise<{ readonly port: number; readonly sent: () => string }> {
  let sent = '';
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    let packets = 0;
    socket.on('error', () => {});
    socket.on('data', (chunk) => {
      sent += chunk.toString('latin1');
      packets += 1;
      answer(socket, packets);
    });
    socket.write(packet(0, greeting()));
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  onTestFinished(async () => {
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  });
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  return { port: (server.address() as AddressInfo).port, sent: () => sent };
}

async function connectTo(port: number): Promise<void> {
  const config = configure(
    { driver: 'mysql', host: '127.0.0.1', port, name: 'shop', user: 'reader', sslmode: 'disable' },
    { password: PASSWORD },
  );
  const session = await openSession(config, new AbortController().signal);
  session.destroy();
}

test('a server that asks for a file of the agent gets an error in its place', async () => {
  const folder = await temporaryFolder('hostile');
  onTestFinished(() => folder.remove());
  const file = join(folder.path, 'secret');
  await writeFile(file, 'canary-file');
  const { port, sent } = await hostileServer((socket, packets) => {
    if (packets === 1) socket.write(packet(2, OK));
    else if (packets === 2) socket.write(packet(1, Buffer.concat([Buffer.from([0xfb]), Buffer.from(file)])));
    else socket.end();
  });
  await expect(connectTo(port)).rejects.toThrow('asked for a file of this machine');
  expect(sent()).toContain('select version()');
  expect(sent()).not.toContain('canary-file');
});

test('a server that asks for the password as it is does not get it', async () => {
  const { port, sent } = await hostileServer((socket, packets) => {
    if (packets === 1)
      socket.write(packet(2, Buffer.concat([Buffer.from([0xfe]), Buffer.from('mysql_clear_password\0')])));
    else socket.end();
  });
  await expect(connectTo(port)).rejects.toThrow('mysql_clear_password');
  expect(sent()).toContain('reader');
  expect(sent()).not.toContain(PASSWORD);
});

test('a server whose answer cannot be read costs its connection alone', async () => {
  const oneColumn = packet(1, Buffer.from([1]));
  // Of a text that is named so, no length can be read.
  const unreadable = packet(2, Buffer.from([1, 0x61, 0xff]));
  const { port } = await hostileServer((socket, packets) => {
    socket.write(packets === 1 ? packet(2, OK) : Buffer.concat([oneColumn, unreadable]));
  });
  await expect(connectTo(port)).rejects.toThrow('Should not reach here');
});
