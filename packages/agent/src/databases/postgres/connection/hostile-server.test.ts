import { connect, createServer, type Socket } from 'node:net';
import { Readable } from 'node:stream';
import { listenOnLoopback, testDatabase, type TestDatabase } from '@svc/testkit';
import { DatabaseError } from '../../driver/errors.ts';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import {
  callOf,
  capabilityOf,
  configOf,
  openPostgres,
  queryOf,
  type TestedDatabase,
} from '../capability.fixture.ts';

const MIB = 1_048_576;

let server: TestDatabase;
let honest: TestedDatabase;
beforeAll(async () => {
  server = await testDatabase();
  honest = openPostgres(configOf(server));
  await honest.ping();
});
afterAll(() => honest.close());

function message(code: string, body: Buffer | string, length: number = Buffer.byteLength(body) + 4): Buffer {
  const head = Buffer.alloc(5);
  head.write(code);
  head.writeUInt32BE(length, 1);
  return Buffer.concat([head, Buffer.from(body)]);
}

function int16(value: number): Buffer {
  return Buffer.from([(value >> 8) & 0xff, value & 0xff]);
}

function int32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32BE(value);
  return bytes;
}

const bound = Buffer.concat([message('1', ''), message('2', '')]);
const row = message('D', Buffer.concat([int16(1), int32(1), Buffer.from('x')]));

/** What no server sends, however far the conversation is. */
const MALFORMED: readonly (readonly [string, Buffer])[] = [
  ['a length of zero', message('Z', 'I', 0)],
  ['a length shorter than itself', message('D', '', 3)],
  ['a length of 4 GiB', message('D', 'x', 0xffff_ffff)],
  ['a length of 1 GiB', message('N', 'x', 0x4000_0000)],
  ['an unknown code', message('?', 'x')],
  ['an error without an end', message('E', 'SFATAL\0')],
  ['an error with a field that does not end', message('E', 'SFATAL')],
  ['a notice without an end', message('N', 'SNOTICE\0')],
  ['a notice with nothing', message('N', '')],
  ['a row with a negative number of fields', message('D', int16(-1))],
  ['a row with a negative length', message('D', Buffer.concat([int16(1), int32(-7)]))],
  [
    'a row with a field longer than itself',
    message('D', Buffer.concat([int16(1), int32(90), Buffer.from('x')])),
  ],
  ['a row with more than its fields', message('D', Buffer.concat([int16(0), Buffer.from('x')]))],
  ['a description of 65,535 columns', message('T', int16(65_535))],
  ['a description that ends too early', message('T', Buffer.concat([int16(2), Buffer.from('a\0')]))],
  ['parameters that are not there', message('t', int16(30_000))],
  ['a setting without a value', message('S', 'client_encoding\0')],
  ['a request to copy', message('G', Buffer.from([0, 0, 0]))],
  ['rows that were suspended', message('s', '')],
  ['an unknown authentication', message('R', int32(4711))],
  ['mechanisms without an end', message('R', Buffer.concat([int32(10), Buffer.from('SCRAM-SHA-256')]))],
  ['text in place of messages', Buffer.from('HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n')],
];

/** A proxy in front of the real server that can be told to answer in its place. */
async function hijackable(): Promise<{
  readonly host: string;
  readonly port: number;
  hijack: ((client: Socket) => void) | undefined;
}> {
  const sockets = new Set<Socket>();
  const proxy = {
    host: '127.0.0.1',
    port: 0,
    hijack: undefined as ((client: Socket) => void) | undefined,
  };
  const listener = createServer((client) => {
    const upstream = connect(server.port, server.host);
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.on('error', () => {});
      socket.on('close', () => [client, upstream].forEach((each) => each.destroy()));
    }
    upstream.pipe(client);
    client.on('data', (chunk) => {
      if (proxy.hijack === undefined) upstream.write(chunk);
      else proxy.hijack(client);
    });
  });
  proxy.port = await listenOnLoopback(listener);
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    listener.close();
  });
  return proxy;
}

/** The kind of error of a call that is answered so, and how many rows the next call then gets. */
async function answeredBy(hijack: (client: Socket) => void): Promise<readonly [kind: unknown, rows: number]> {
  const proxy = await hijackable();
  const database = openPostgres(configOf({ ...server, ...proxy }, { sslmode: 'disable', maxConnections: 1 }));
  onTestFinished(() => database.close());
  const query = await queryOf(database, capabilityOf('select 1 as a'));
  await query.run(callOf());
  proxy.hijack = hijack;
  const error: unknown = await query.run(callOf()).catch((reason: unknown) => reason);
  proxy.hijack = undefined;
  const { count } = await query.run(callOf());
  await honest.ping();
  return [error instanceof DatabaseError ? error.kind : error, count];
}

const FAILED_ALONE = [expect.stringMatching(/^(unavailable|failed)$/), 1];

test.each(['disable', 'prefer'] as const)(
  'what cannot be read in place of a login costs the connection alone, with sslmode %s',
  async (sslmode) => {
    const pings = MALFORMED.map(async ([title, bytes]) => {
      const proxy = await hijackable();
      proxy.hijack = (client) => void client.write(bytes);
      const database = openPostgres(configOf({ ...server, ...proxy }, { sslmode }));
      const error: unknown = await database.ping().catch((reason: unknown) => reason);
      await database.close();
      return [title, error instanceof DatabaseError ? error.kind : error];
    });
    expect(await Promise.all(pings)).toEqual(MALFORMED.map(([title]) => [title, 'unavailable']));
    await honest.ping();
  },
);

test('what cannot be read in the middle of a result costs the session alone', async () => {
  const calls = MALFORMED.map(async ([title, bytes]) => [
    title,
    await answeredBy((client) => void client.write(Buffer.concat([bound, row, bytes]))),
  ]);
  expect(await Promise.all(calls)).toEqual(MALFORMED.map(([title]) => [title, FAILED_ALONE]));
});

test('what cannot be read costs the session alone, also a byte at a time', async () => {
  const calls = MALFORMED.map(async ([title, bytes]) => [
    title,
    await answeredBy((client) => {
      client.setNoDelay(true);
      const single = Array.from(Buffer.concat([bound, bytes]), (byte) => Buffer.from([byte]));
      Readable.from(single).pipe(client, { end: false });
    }),
  ]);
  expect(await Promise.all(calls)).toEqual(MALFORMED.map(([title]) => [title, FAILED_ALONE]));
});

/** Sends the block again and again, for as long as the client reads. */
function flood(client: Socket, begin: Buffer, block: Buffer): void {
  function* blocks(): Generator<Buffer> {
    yield begin;
    for (;;) yield block;
  }
  Readable.from(blocks()).pipe(client);
}

const noise = Buffer.alloc(64 * 1024, 'x');
const many = (each: Buffer): Buffer => Buffer.concat(Array.from({ length: 2000 }, () => each));

test.each<readonly [string, Buffer, Buffer, number]>([
  ['a row of 900 MB', Buffer.concat([bound, message('D', '', 900_000_000)]), noise, 1],
  ['a row of 60 MiB where max_bytes is 1 MiB', Buffer.concat([bound, message('D', '', 60 * MIB)]), noise, 1],
  ['rows without an end', bound, many(row), 3],
  ['rows that hold nothing', bound, many(message('D', int16(0))), 3],
  ['completed commands without an end', bound, many(message('C', 'SELECT 1\0')), 3],
  ['notices without an end', bound, many(message('N', 'SNOTICE\0Mnothing\0\0')), 68],
  ['settings without an end', bound, many(message('S', 'client_encoding\0LATIN1\0')), 68],
])('%s cost the session alone, and no more than is named', async (_title, begin, block, mib) => {
  const before = process.memoryUsage().rss;
  const flooded: Socket[] = [];
  const ended = await answeredBy((client) => {
    flooded.push(client);
    flood(client, begin, block);
  });
  expect(ended).toEqual(FAILED_ALONE);
  // What the two sockets hold comes to that.
  for (const { bytesWritten } of flooded) expect(bytesWritten).toBeLessThan((mib + 16) * MIB);
  expect(flooded.length).toBeGreaterThan(0);
  expect(process.memoryUsage().rss - before).toBeLessThan(128 * MIB);
});

test('a login that asks for one authentication after the other derives one key', async () => {
  const challenge = `r=NONCEmore,s=${Buffer.alloc(16).toString('base64')},i=100000`;
  const listener = createServer((socket) => {
    socket.on('error', () => {});
    socket.once('data', () => {
      socket.write(message('R', Buffer.concat([int32(10), Buffer.from('SCRAM-SHA-256\0\0')])));
      socket.once('data', (answer) => {
        const nonce = /r=([^,]+)/.exec(answer.toString())?.[1] ?? '';
        const next = message('R', Buffer.concat([int32(11), Buffer.from(challenge.replace('NONCE', nonce))]));
        socket.write(many(next));
      });
    });
  });
  const port = await listenOnLoopback(listener);
  onTestFinished(() => void listener.close());
  const database = openPostgres(configOf({ ...server, port }, { sslmode: 'disable' }));
  const before = process.cpuUsage();
  await expect(database.ping()).rejects.toMatchObject({
    message: expect.stringContaining('a request for authentication that is not due'),
  });
  const { user } = process.cpuUsage(before);
  // Two thousand keys take a minute and more.
  expect(user).toBeLessThan(5_000_000);
  await database.close();
});
