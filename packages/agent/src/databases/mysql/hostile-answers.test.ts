import { createServer, type AddressInfo, type Socket } from 'node:net';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { temporaryFolder } from '@svc/testkit';
import { expect, onTestFinished, test } from 'vitest';
import { callOf } from '../conformance/capability.testing.ts';
import type { Database } from '../driver/driver.ts';
import { configure, type MysqlConfig } from './config/config.ts';
import { connect } from './connect.ts';
import { openSession } from './connection/session.ts';
import type { PreparedQuery } from './execute/prepared-query.ts';

const PASSWORD = 'canary-password';
const OK = Buffer.from([0, 0, 0, 2, 0, 0, 0]);
/** CONNECT_WITH_DB, LOCAL_FILES, PROTOCOL_41, SECURE_CONNECTION and PLUGIN_AUTH. */
const CAPABILITIES = 0x8 | 0x80 | 0x200 | 0x8000 | 0x80000;

function greeting(capabilities: number): Buffer {
  const numbers = Buffer.alloc(18);
  numbers.writeUInt16LE(capabilities & 0xffff, 0);
  numbers.writeUInt8(45, 2);
  numbers.writeUInt16LE(2, 3);
  numbers.writeUInt16LE(capabilities >>> 16, 5);
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
  answerTo: (socket: Socket, packets: number, chunk: Buffer) => void,
  capabilities: number = CAPABILITIES,
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
      answerTo(socket, packets, chunk);
    });
    socket.write(packet(0, greeting(capabilities)));
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

function configOf(port: number): MysqlConfig {
  return configure(
    { driver: 'mysql', host: '127.0.0.1', port, name: 'shop', user: 'reader', sslmode: 'disable' },
    { password: PASSWORD },
  );
}

async function connectTo(port: number): Promise<void> {
  const config = configOf(port);
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

const MIB = 1_048_576;
const EOF = Buffer.from([0xfe, 0, 0, 2, 0]);
const LONG = 0x03;
const TEXT = 0xfc;
const COMMAND = { query: 0x03, prepare: 0x16, execute: 0x17 } as const;

function column(type: number, name: string = 'a'): Buffer {
  const named = ['def', '', '', '', name, ''].map((text) => Buffer.from([text.length, ...Buffer.from(text)]));
  return Buffer.concat([...named, Buffer.from([12, 63, 0, 255, 0, 0, 0, type, 0, 0, 0, 0, 0])]);
}

/** The packets of an answer, numbered from 1. */
function answer(...payloads: readonly Buffer[]): Buffer {
  return Buffer.concat(payloads.map((payload, index) => packet(index + 1, payload)));
}

/** A length as the protocol writes it, whatever follows. */
function longLength(length: number): Buffer {
  const bytes = Buffer.alloc(9, 0xfe);
  bytes.writeBigUInt64LE(BigInt(length), 1);
  return bytes;
}

const VERSION = answer(
  Buffer.from([1]),
  column(TEXT, 'version'),
  EOF,
  Buffer.from([5, ...Buffer.from('8.4.0')]),
  EOF,
);
/** Of a statement with one column and no parameter. */
const PREPARED = answer(Buffer.from([0, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0]), column(TEXT), EOF);
const RESULT = answer(Buffer.from([1]), column(TEXT), EOF);

/** A server that answers as it should until it comes to what `spoil` answers itself. */
async function spoiledServer(
  spoil: (socket: Socket, command: number, text: string) => boolean,
): Promise<{ readonly port: number }> {
  const isLogin = new WeakSet<Socket>();
  return hostileServer((socket, _packets, chunk) => {
    if (!isLogin.has(socket)) {
      isLogin.add(socket);
      if (!spoil(socket, 0, '')) socket.write(packet(2, OK));
      return;
    }
    const command = chunk[4] ?? 0;
    const text = chunk.toString('latin1', 5);
    if (spoil(socket, command, text)) return;
    if (command === COMMAND.prepare) socket.write(PREPARED);
    else socket.write(text.startsWith('select version') ? VERSION : packet(1, OK));
  });
}

function queryOf(database: Database, more: Partial<PreparedQuery> = {}): ReturnType<Database['prepare']> {
  const limits = { timeoutMs: 5000, maxRows: 1000, maxBytes: MIB, onLimit: 'truncate' as const };
  const prepared: PreparedQuery = {
    capability: 'sample',
    text: 'select a',
    params: [],
    limits,
    probes: [],
    searches: [],
    required: [],
    hasFloats: false,
    callsOwn: false,
    setsCaller: false,
    ...more,
  };
  return database.prepare(prepared);
}

const row = (text: string): Buffer => Buffer.from([0, 0, text.length, ...Buffer.from(text)]);

/** What no server sends in place of a result. */
const MALFORMED: readonly (readonly [string, Buffer])[] = [
  ['an empty packet', packet(1, Buffer.alloc(0))],
  ['empty packets', Buffer.concat([1, 2, 3].map((number) => packet(number, Buffer.alloc(0))))],
  ['a packet out of order', packet(7, Buffer.from([1]))],
  ['2^32 columns', answer(longLength(2 ** 32))],
  ['2^63 columns', answer(longLength(2 ** 63))],
  ['5,000 columns', answer(Buffer.from([0xfc, 0x88, 0x13]))],
  ['a column whose name has no length', answer(Buffer.from([1]), Buffer.from([1, 0x61, 0xff]))],
  ['a column whose name is longer than the packet', answer(Buffer.from([1]), longLength(2 ** 40))],
  ['no end of the columns', answer(Buffer.from([1]), column(TEXT), column(TEXT))],
  ['a request for a file', answer(Buffer.from([0xfb, ...Buffer.from('/etc/passwd')]))],
  ['a geometry', answer(Buffer.from([1]), column(255), EOF)],
  [
    'a row that is longer than its packet',
    Buffer.concat([RESULT, packet(4, Buffer.from([0, 0, 200, 0x61])), packet(5, EOF)]),
  ],
  [
    'a row with a length of 2^52',
    Buffer.concat([RESULT, packet(4, Buffer.concat([Buffer.from([0, 0]), longLength(2 ** 52)]))]),
  ],
  [
    'a second result',
    Buffer.concat([RESULT, packet(4, row('{}')), packet(5, Buffer.from([0xfe, 0, 0, 8, 0])), packet(6, OK)]),
  ],
  [
    'session changes that are not there',
    answer(Buffer.from([0, 0, 0, 0, 0x40, 0, 0, 1, 0x20, 0xfe, 255, 255, 255, 255, 255, 255, 31, 0])),
  ],
  [
    'a result that nobody asked for',
    Buffer.concat([RESULT, packet(4, row('{}')), packet(5, EOF), RESULT, RESULT]),
  ],
];

test.each(MALFORMED)('%s in place of a result costs the session alone', async (title, bytes) => {
  let isSpoiled = true;
  const { port } = await spoiledServer((socket, command) => {
    if (command !== COMMAND.execute) return false;
    socket.write(isSpoiled ? bytes : Buffer.concat([RESULT, packet(4, row('{}')), packet(5, EOF)]));
    return true;
  });
  const database = connect(configOf(port), () => {});
  onTestFinished(() => database.close());
  const query = queryOf(database);
  const first = await query.run(callOf()).catch((error: unknown) => error);
  if (!title.startsWith('a result')) expect(first).toMatchObject({ kind: 'unavailable' });
  isSpoiled = false;
  expect((await query.run(callOf())).count).toBe(1);
});

// As text that row holds nothing, and the rest of the answer is waited for.
const MALFORMED_TEXT = MALFORMED.filter(([title]) => !title.startsWith('a row with a length'));

test.each(MALFORMED_TEXT)(
  '%s in answer to a question of its own costs the session alone',
  async (_title, bytes) => {
    const { port } = await spoiledServer((socket, command) => {
      if (command === COMMAND.query) socket.write(bytes);
      return command === COMMAND.query;
    });
    await expect(connectTo(port)).rejects.toThrow(/\S/);
  },
);

test('an integer with more digits than its packet has is not read for ever', async () => {
  const endless = Buffer.concat([longLength(2 ** 52), Buffer.from('1')]);
  const { port } = await spoiledServer((socket, command) => {
    if (command === COMMAND.query) socket.write(answer(Buffer.from([1]), column(LONG), EOF, endless));
    return command === COMMAND.query;
  });
  await expect(connectTo(port)).rejects.toMatchObject({ kind: 'unavailable' });
});

test('a login that asks for one method after the other ends', async () => {
  const again = Buffer.concat([
    Buffer.from([0xfe]),
    Buffer.from('mysql_native_password\0saltsaltsaltsaltsalt\0'),
  ]);
  let asked = 0;
  const { port } = await hostileServer((socket) => {
    asked += 1;
    socket.write(packet(asked * 2, again));
  });
  await expect(connectTo(port)).rejects.toThrow('a login without an end');
  expect(asked).toBeLessThan(100);
});

test('compression that was not asked for is not used', async () => {
  const COMPRESS = 0x20;
  const { port } = await hostileServer(
    (socket, packets) =>
      socket.write(packets === 1 ? packet(2, OK) : packets === 2 ? VERSION : packet(1, OK)),
    CAPABILITIES | COMPRESS,
  );
  await expect(connectTo(port)).resolves.toBeUndefined();
});

const full = packet(4, Buffer.alloc(0xff_ffff, 'x'));

test.each<readonly [string, Buffer, Buffer]>([
  ['a row of 16 MiB where max_bytes is 1 MiB', RESULT, full],
  ['rows without an end', RESULT, Buffer.alloc(0)],
])('%s costs the session alone, and no more than is named', async (_title, begin, block) => {
  const flooded: Socket[] = [];
  const { port } = await spoiledServer((socket, command) => {
    if (command !== COMMAND.execute) return false;
    flooded.push(socket);
    let number = 3;
    function* blocks(): Generator<Buffer> {
      yield begin;
      for (;;) {
        const rows = Array.from({ length: 2560 }, () => packet((number = (number + 1) % 256), row('{}')));
        yield block.length > 0 ? block : Buffer.concat(rows);
      }
    }
    Readable.from(blocks()).pipe(socket);
    return true;
  });
  const database = connect(configOf(port), () => {});
  onTestFinished(() => database.close());
  const before = process.memoryUsage().rss;
  // Of rows that are too many, those that count are given.
  const ended = await queryOf(database)
    .run(callOf())
    .catch((error: unknown) => error);
  expect(ended).toMatchObject(block.length > 0 ? { kind: 'too_large' } : { truncated: true });
  for (const { bytesWritten } of flooded) expect(bytesWritten).toBeLessThan(32 * MIB);
  expect(flooded).toHaveLength(1);
  expect(process.memoryUsage().rss - before).toBeLessThan(96 * MIB);
});

test('packets that are joined without an end are left', async () => {
  const sockets: Socket[] = [];
  const { port } = await spoiledServer((socket, command, text) => {
    if (command !== COMMAND.query || text.startsWith('select version')) return false;
    sockets.push(socket);
    function* blocks(): Generator<Buffer> {
      for (let number = 1; ; number = (number + 1) % 256) yield packet(number, Buffer.alloc(0xff_ffff, 'x'));
    }
    Readable.from(blocks()).pipe(socket);
    return true;
  });
  await expect(connectTo(port)).rejects.toMatchObject({ kind: 'too_large' });
  for (const { bytesWritten } of sockets) expect(bytesWritten).toBeLessThan(96 * MIB);
});

const ANSWERED = Buffer.concat([RESULT, packet(4, row('{}')), packet(5, EOF)]);

const ENDED = Buffer.concat([Buffer.from([0xff, 0x25, 0x05]), Buffer.from('#70100ended')]);

test.each([
  ['is not sent for a query whose answer has come meanwhile', true],
  ['is sent once for a query that still runs', false],
])('KILL %s', async (_title, isAnswered) => {
  const kills: string[] = [];
  const executed: Socket[] = [];
  const ended = new AbortController();
  let logins = 0;
  const { port } = await spoiledServer((socket, command, text) => {
    if (command === 0) {
      logins += 1;
      if (logins === 1) return false;
      // Over this connection the query is to be ended.
      if (isAnswered) executed[0]?.write(ANSWERED);
      setTimeout(() => socket.write(packet(2, OK)), 100);
      return true;
    }
    if (text.startsWith('kill')) {
      kills.push(text);
      executed[0]?.write(packet(1, ENDED));
    }
    if (command !== COMMAND.execute) return false;
    executed.push(socket);
    ended.abort();
    return true;
  });
  const database = connect(configOf(port), () => {});
  onTestFinished(() => database.close());
  const { signal } = ended;
  await expect(queryOf(database).run(callOf({}, { signal }))).rejects.toMatchObject({ kind: 'cancelled' });
  await expect.poll(() => logins).toBe(2);
  await new Promise((resolve) => setTimeout(resolve, 300));
  expect(kills).toEqual(isAnswered ? [] : ['kill query 1']);
});

test('a call whose time is up while its values are looked into takes no other session', async () => {
  const NO_PATTERN = Buffer.concat([Buffer.from([0xff, 0x73, 0x04]), Buffer.from('#42000no pattern')]);
  const prepared = new WeakMap<Socket, string>();
  let isFailing = false;
  let probed: Socket | undefined;
  const { port } = await spoiledServer((socket, command, text) => {
    if (command === COMMAND.prepare) prepared.set(socket, text);
    if (text.startsWith('kill')) probed?.write(packet(1, ENDED));
    if (command !== COMMAND.execute) return false;
    // The first probe is answered when it is killed.
    if (prepared.get(socket) === 'select a') socket.write(isFailing ? packet(1, NO_PATTERN) : ANSWERED);
    else probed = socket;
    return true;
  });
  const database = connect(configOf(port), () => {});
  onTestFinished(() => database.close());
  const probes = ['select 1', 'select 2', 'select 3'].map((text) => ({ text, params: [] }));
  const query = queryOf(database, { probes });
  await Promise.all([1, 2, 3].map(() => query.run(callOf())));
  expect(database.connections.idle).toBe(3);
  isFailing = true;
  await expect(query.run(callOf({}, { timeoutMs: 300 }))).rejects.toMatchObject({ kind: 'failed' });
  expect(database.connections).toMatchObject({ idle: 2, opening: 0 });
});
