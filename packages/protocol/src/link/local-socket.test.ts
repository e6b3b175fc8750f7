import { mkdtemp, rm } from 'node:fs/promises';
import { connect, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { afterEach, expect, test } from 'vitest';
import { ProtocolError } from '../rules/close-code.ts';
import { MESSAGE_MAX_BYTES } from '../rules/limits.ts';
import { createMessageReader, localSocket, receiveMessages } from './local-socket.ts';

const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

/** Both ends of a stream over a real socket. */
async function connected(): Promise<readonly [Socket, Socket]> {
  const folder = await mkdtemp(join(tmpdir(), 'local-socket-'));
  const path = join(folder, 'socket');
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(path, resolve));
  const accepted = new Promise<Socket>((resolve) => server.once('connection', resolve));
  const dialled = connect(path);
  const ends = [dialled, await accepted] as const;
  closing.push(async () => {
    for (const end of ends) end.destroy();
    await new Promise((resolve) => server.close(resolve));
    await rm(folder, { recursive: true });
  });
  return ends;
}

interface Received {
  readonly messages: Buffer[];
  /** Resolves with the reason. */
  readonly closed: Promise<string>;
}

function receive(stream: Socket): Received {
  const messages: Buffer[] = [];
  const closed = new Promise<string>((resolve) => {
    receiveMessages(stream, (message) => messages.push(Buffer.from(message)), resolve);
  });
  return { messages, closed };
}

function framed(message: Uint8Array): Buffer {
  const length = Buffer.alloc(4);
  length.writeUInt32BE(message.length);
  return Buffer.concat([length, message]);
}

test('messages of all sizes arrive whole and in order, and each is reported as sent', async () => {
  const [near, far] = await connected();
  const received = receive(far);
  const socket = localSocket(near);
  const sizes = [1, 2, 16_384, 16_385, 65_528, MESSAGE_MAX_BYTES, 3, MESSAGE_MAX_BYTES];
  const messages = sizes.map((size, index) => Buffer.alloc(size, index + 1));
  await Promise.all(messages.map((message) => new Promise<void>((sent) => socket.send(message, sent))));
  socket.close(1001, 'done');
  expect(await received.closed).toBe('connection lost');
  expect(received.messages.map((message) => message.length)).toEqual(sizes);
  expect(Buffer.concat(received.messages).equals(Buffer.concat(messages))).toBe(true);
});

test('what is sent in one turn leaves in one write', async () => {
  const [near, far] = await connected();
  const chunks: Buffer[] = [];
  far.on('data', (chunk) => chunks.push(chunk));
  const socket = localSocket(near);
  const all = [1, 2, 3].map((byte) => new Promise<void>((sent) => socket.send(Buffer.of(byte), sent)));
  await Promise.all(all);
  near.end();
  await new Promise((resolve) => far.once('close', resolve));
  expect(chunks).toEqual([Buffer.concat([1, 2, 3].map((byte) => framed(Buffer.of(byte))))]);
});

test('a message is reported as sent only when the other side makes place for it', async () => {
  const [near, far] = await connected();
  far.pause();
  const socket = localSocket(near);
  let sent = 0;
  const count = 200;
  const all = Array.from({ length: count }, () => {
    const message = Buffer.alloc(65_528);
    return new Promise<void>((resolve) => {
      socket.send(message, () => {
        sent++;
        resolve();
      });
    });
  });
  for (let turn = 0; turn < 100; turn++) await new Promise(setImmediate);
  expect(sent).toBeLessThan(count);
  receive(far);
  far.resume();
  await Promise.all(all);
});

test.each([0, MESSAGE_MAX_BYTES + 1, 0xffff_ffff])('a length of %i ends the connection', async (bytes) => {
  const [near, far] = await connected();
  const received = receive(far);
  const length = Buffer.alloc(4);
  length.writeUInt32BE(bytes);
  near.on('error', () => {});
  near.write(Buffer.concat([framed(Buffer.of(7)), length, Buffer.alloc(8)]));
  expect(await received.closed).toBe(`a message cannot have ${bytes} bytes`);
  expect(received.messages).toEqual([Buffer.of(7)]);
});

test('a stream that ends within a message hands on nothing of it', async () => {
  const [near, far] = await connected();
  const received = receive(far);
  near.end(Buffer.concat([framed(Buffer.of(7)), framed(Buffer.alloc(100)).subarray(0, 50)]));
  await received.closed;
  expect(received.messages).toEqual([Buffer.of(7)]);
});

test('messages are the same whatever the pieces in which they arrive', () => {
  fc.assert(
    fc.property(
      fc.array(fc.uint8Array({ minLength: 1, maxLength: 300 }), { maxLength: 20 }),
      fc.array(fc.integer({ min: 1, max: 200 }), { minLength: 1, maxLength: 20 }),
      (messages, cuts) => {
        const bytes = Buffer.concat(messages.map(framed));
        const read: string[] = [];
        const reader = createMessageReader((message) => read.push(message.toString('hex')));
        for (let at = 0, index = 0; at < bytes.length; index++) {
          const size = cuts[index % cuts.length] ?? 1;
          reader(Buffer.from(bytes.subarray(at, at + size)));
          at += size;
        }
        expect(read).toEqual(messages.map((message) => Buffer.from(message).toString('hex')));
      },
    ),
  );
});

test('made-up bytes are messages or refused, and nothing else', () => {
  fc.assert(
    fc.property(fc.array(fc.uint8Array({ maxLength: 40 }), { maxLength: 10 }), (chunks) => {
      const reader = createMessageReader((message) => expect(message.length).toBeGreaterThan(0));
      try {
        for (const chunk of chunks) reader(Buffer.from(chunk));
      } catch (error) {
        expect(error).toBeInstanceOf(ProtocolError);
      }
    }),
  );
});
