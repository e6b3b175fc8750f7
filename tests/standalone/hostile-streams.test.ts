import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { sizeOf, SVC, testDatabase, type TestDatabase } from '@svc/testkit';
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { LIBRARY, libraryFile } from './library.testing.ts';
import { folderOf, start } from './scene.testing.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await testDatabase({ sql: LIBRARY });
});

const library = (text: string = libraryFile(database)) => folderOf(text);

/** Prints wherever code that shares the process can: while svc starts, later, and when it ends. */
const PRELOAD = `
if (process.argv.some((word) => word === 'stdio')) {
  const say = (what) => console.log('PRELOAD ' + what);
  process.nextTick(say, 'next tick');
  setImmediate(say, 'immediate');
  setInterval(() => { say('interval'); process.stdout.write('PRELOAD torn'); }, 5).unref();
  process.on('exit', () => say('exit'));
  process.on('warning', () => say('warning'));
  setTimeout(() => process.emitWarning('PRELOAD warns'), 100);
  // The last, so that it prints from the first statements of svc on.
  process.on('newListener', (event) => say('newListener ' + String(event)));
}
`;

test('standard output holds messages alone, whatever a preload prints', async () => {
  const { path, file } = await library();
  await writeFile(join(path, 'preload.cjs'), PRELOAD);
  const client = await start(['--config', file], {
    env: { NODE_OPTIONS: `--require=${join(path, 'preload.cjs')}` },
  });
  await client.initialize();
  for (let n = 1; n <= 20; n += 1)
    await client.request('tools/call', { name: 'get_book', arguments: { id: n } });
  client.end();
  expect((await client.process.exited).code).toBe(0);
  expect(client.messages().length).toBeGreaterThan(20);
  const said = client.process.output('stderr');
  for (const when of ['newListener SIG', 'next tick', 'immediate', 'interval', 'warning', 'exit'])
    expect(said).toContain(`PRELOAD ${when}`);
});

test('no value, SQL, password or word of the database is in messages of faults, on standard error, or in the log', async () => {
  const canaries = {
    value: 'CanaryValue',
    sql: 'canary_sql',
    word: 'CanaryWord',
    password: 'CanaryPassword',
  };
  await database.execute(`
    create or replace function fail_loudly(text) returns integer language plpgsql stable as
      $$ begin raise exception '${canaries.word} %', $1; end $$;
    do $$ begin
      if not exists (select from pg_roles where rolname = 'canary') then
        create role canary login password '${canaries.password}';
      end if;
    end $$`);
  const { path, file } = await library(
    libraryFile(
      { ...database, user: 'canary', password: canaries.password },
      {
        capabilities: `
capabilities:
  fail:
    description: Fails
    sql: select fail_loudly(:text) as ${canaries.sql}
    params: { text: { type: string, required: true } }
    policy: { allow_functions: [fail_loudly] }
    result: { ${canaries.sql}: { type: integer } }
  divide:
    description: Divides
    sql: select 1 / :by as ${canaries.sql}
    params: { by: { type: integer, required: true } }
    result: { ${canaries.sql}: { type: integer } }
`,
      },
    ),
  );
  const log = join(path, 'stdio.log');
  const client = await start(['--config', file, '--log', log]);
  await client.initialize();
  const failed = await client.request('tools/call', { name: 'fail', arguments: { text: canaries.value } });
  expect(failed.result).toMatchObject({ isError: true });
  await client.request('tools/call', { name: 'divide', arguments: { by: 0 } });
  await client.request('tools/call', { name: 'divide', arguments: { by: canaries.value } });
  await client.request('tools/call', { name: canaries.value, arguments: {} });
  client.raw(`{"${canaries.value}\n`);
  await database.execute('alter role canary nologin');
  await database.execute(
    `select pg_terminate_backend(pid) from pg_stat_activity where usename = 'canary' and pid <> pg_backend_pid()`,
  );
  await client.request('tools/call', { name: 'divide', arguments: { by: 1 } });
  client.end();
  await client.process.exited;
  const shown = client.process.output() + (await readFile(log, 'utf8'));
  expect(Object.values(canaries).filter((canary) => shown.includes(canary))).toEqual([]);
});

test.each([
  ['a password that is refused', (file: string) => file.replace(/password: "[^"]*"/, 'password: "Canary1"')],
  [
    'a database that does not exist',
    (file: string) => file.replace(/name: \w+, user/, 'name: canary2, user'),
  ],
  ['SQL that fails', (file: string) => file.replace('from book where', 'from canary3 where')],
])('%s is told without its words', async (_what, change) => {
  const { file } = await library(change(libraryFile(database)));
  const client = await start(['--config', file]);
  expect((await client.initialize()).error?.code).toBe(-32_603);
  const all = client.process.output();
  // The name of a database is in the file, and PostgreSQL's own sentences are not shown.
  expect(all).not.toMatch(/Canary1|password authentication failed|relation "canary3" does not exist/);
});

describe('a client that stops reading', () => {
  test('amid 64 large results, then closes: the process ends within a second, below 200 MB', async () => {
    const { file } = await library();
    const client = spawn(process.execPath, [SVC, 'stdio', '--config', file], {
      stdio: ['pipe', 'pipe', 'ignore'],
    });
    const exited = once(client, 'exit');
    onTestFinished(() => void client.kill('SIGKILL'));
    const send = (message: object): void =>
      void client.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
    send({
      id: 'i',
      method: 'initialize',
      params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'a', version: '1' } },
    });
    await once(client.stdout, 'data');
    client.stdout.pause();
    for (let n = 0; n < 64; n += 1)
      send({ id: n, method: 'tools/call', params: { name: 'large', arguments: { rows: 1000 } } });
    const { pid } = client;
    if (pid === undefined) throw new Error('svc has not started');
    let most = 0;
    for (let looked = 0; looked < 15; looked += 1) {
      most = Math.max(most, (await sizeOf({ pid })).megabytes);
      await pause(100);
    }
    const peak = Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024;
    client.stdin.destroy();
    client.stdout.destroy();
    const closedAt = performance.now();
    await exited;
    expect(performance.now() - closedAt).toBeLessThan(1000);
    expect(Math.max(most, peak)).toBeLessThan(200);
  });
});

test.each([
  ['a thousand messages', '{"jsonrpc":"2.0","id":1,"method":"ping"}\n'.repeat(1000), 20_000_000],
  ['16 MB of ids', `{"jsonrpc":"2.0","id":"${'x'.repeat(1_000_000)}","method":"ping"}\n`, 60_000_000],
  [
    '16 MB of ids in batches',
    `[${Array.from({ length: 4 }, () => `{"jsonrpc":"2.0","id":"${'x'.repeat(250_000)}","method":"ping"}`).join()}]\n`,
    60_000_000,
  ],
])('of a client that sends and never reads, no more is read than %s', async (_what, text, most) => {
  const { file } = await library();
  const client = spawn(process.execPath, [SVC, 'stdio', '--config', file], {
    stdio: ['pipe', 'pipe', 'ignore'],
  });
  const exited = once(client, 'exit');
  onTestFinished(() => void client.kill('SIGKILL'));
  const params = { protocolVersion: '2025-03-26', capabilities: {}, clientInfo: { name: 'a', version: '1' } };
  client.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id: 'i', method: 'initialize', params })}\n`);
  await once(client.stdout, 'data');
  client.stdout.pause();
  const pings = Buffer.from(text);
  let sent = 0;
  let isStuck = false;
  while (sent < most && !isStuck) {
    sent += pings.length;
    if (client.stdin.write(pings)) continue;
    const stuck = AbortSignal.timeout(1000);
    isStuck = await once(client.stdin, 'drain', { signal: stuck }).then(
      () => false,
      () => true,
    );
  }
  expect(sent).toBeLessThan(most);
  client.stdin.destroy();
  client.stdout.destroy();
  const closedAt = performance.now();
  await exited;
  expect(performance.now() - closedAt).toBeLessThan(2000);
});

test('a client that closes standard error is served', async () => {
  const { file } = await library();
  const client = spawn(process.execPath, [SVC, 'stdio', '--config', file]);
  const exited = once(client, 'exit');
  onTestFinished(() => void client.kill('SIGKILL'));
  client.stderr.destroy();
  // The account may do more than read, which is said there once the checks are over.
  client.stdin.write('{"jsonrpc":"2.0","id":1,"method":"tools/list"}\n');
  const [answer]: Buffer[] = await once(client.stdout, 'data');
  expect(String(answer)).toContain('get_book');
  client.stdin.end();
  expect(await exited).toEqual([0, null]);
});

describe('input that is no message', () => {
  test('is refused, and the next line is served: 100 MB without a line feed, torn UTF-8, depth 33, a byte order mark', async () => {
    const { file } = await library();
    const client = await start(['--config', file]);
    await client.initialize();
    const { input, pid } = client.process;
    if (input === undefined) throw new Error('svc has no input');
    // As deep as arguments are, since the message and its params are around them.
    const nested = (depth: number, id: string): string =>
      `{"jsonrpc":"2.0","id":"${id}","method":"tools/call","params":{"name":"get_book","arguments":{"id":${'['.repeat(depth - 1)}${']'.repeat(depth - 1)}}}}\n`;
    const expectRefusal = async (line: () => void, code: number, id?: string): Promise<void> => {
      const before = client.messages().length;
      line();
      await expect.poll(() => client.messages().length).toBe(before + 1);
      expect(client.messages().at(-1)).toMatchObject({ error: { code } });
      expect(client.messages().at(-1)?.id).toBe(id);
      expect(await client.request('ping')).toMatchObject({ result: {} });
    };
    const piece = Buffer.alloc(1_000_000, 'x');
    await expectRefusal(() => {
      for (let n = 0; n < 100; n += 1) input.write(piece);
      input.write('\n');
    }, -32_600);
    expect((await sizeOf({ pid })).megabytes).toBeLessThan(200);
    await expectRefusal(() => client.raw(Buffer.from([0x22, 0xe2, 0x82, 0x22, 0x0a])), -32_700);
    await expectRefusal(() => client.raw(`\ufeff{"jsonrpc":"2.0","id":1,"method":"ping"}\n`), -32_700);
    await expectRefusal(() => client.raw(nested(33, 'deep')), -32_700);
    await expectRefusal(() => client.raw(`"${'\\u0000'.repeat(3)}\n`), -32_700);
  });

  test('a message that comes byte by byte, with a character torn between pieces, is served', async () => {
    const { file } = await library();
    const client = await start(['--config', file]);
    await client.initialize();
    const line = Buffer.from(
      '{"jsonrpc":"2.0","id":"ü","method":"tools/call","params":{"name":"get_book","arguments":{"id":7}}}\r\n',
    );
    for (const byte of line) {
      client.raw(Uint8Array.of(byte));
      await pause(0);
    }
    expect((await client.answer('ü')).result).toMatchObject({ structuredContent: { count: 1 } });
  });
});

test('the log is for its owner alone, and two processes share it without a torn line', async () => {
  const { path, file } = await library();
  const log = join(path, 'calls.jsonl');
  const clients = await Promise.all([
    start(['--config', file, '--log', log, '--name', 'one']),
    start(['--config', file, '--log', log, '--name', 'two']),
  ]);
  await Promise.all(
    clients.map(async (client) => {
      await client.initialize();
      await Promise.all(
        Array.from({ length: 500 }, (_, n) =>
          client.request('tools/call', { name: 'get_book', arguments: { id: n + 1 } }),
        ),
      );
      client.end();
      await client.process.exited;
    }),
  );
  expect((await stat(log)).mode & 0o777).toBe(0o600);
  const records = (await readFile(log, 'utf8'))
    .trimEnd()
    .split('\n')
    .map((line): Readonly<Record<string, unknown>> => JSON.parse(line));
  for (const name of ['one', 'two']) {
    const own = records.filter((record) => record['event'] === 'request' && record['api_key_name'] === name);
    expect(own.filter((record) => record['mcp_method'] === 'tools/call')).toHaveLength(500);
    expect(own[0]).toMatchObject({ method: 'stdio', route: 'stdio', http_status: '', source: '' });
  }
  expect(records.filter((record) => record['event'] === 'call')).toHaveLength(1000);
});
