import { writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { DuckDBInstance } from '@duckdb/node-api';
import {
  ask,
  createKey,
  dial,
  freePort,
  startProcess,
  SVC,
  testDatabase,
  type RunningProcess,
  type TestDatabase,
} from '@svc/testkit';
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { recordsOf } from '../requirements/lone-gateway.testing.ts';
import { LIBRARY, libraryFile } from './library.testing.ts';
import { folderOf } from './scene.testing.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await testDatabase({ sql: LIBRARY });
});

interface Served {
  readonly process: RunningProcess;
  readonly port: number;
  readonly url: string;
  readonly apiKey: string;
  readonly file: string;
  readonly call: (name: string, params: object) => ReturnType<typeof ask>;
}

async function serve(
  env: Readonly<Record<string, string>> = {},
  text: string = libraryFile(database),
): Promise<Served> {
  const { file } = await folderOf(text);
  const { api_key: apiKey, record } = await createKey('all', '*');
  const process = await startProcess(SVC, ['serve', '--config', file], {
    env: { GATEWAY_ADDR: '127.0.0.1:0', GATEWAY_API_KEYS_JSON: JSON.stringify([record]), ...env },
  });
  onTestFinished(async () => void (await process.stop()));
  const { port }: { readonly port: number } = JSON.parse(
    await process.waitForLine((line) => line.includes('"event":"listening"')),
  );
  const url = `http://127.0.0.1:${port}`;
  return {
    process,
    port,
    url,
    apiKey,
    file,
    call: (name, params) =>
      ask(`${url}/api/v1/capabilities/${name}`, { method: 'POST', body: JSON.stringify(params), apiKey }),
  };
}

const UNLIMITED = {
  GATEWAY_RATE_LIMIT_REQUESTS_PER_SECOND: '100000',
  GATEWAY_RATE_LIMIT_BURST: '100000',
  GATEWAY_PRINCIPAL_RATE_LIMIT_REQUESTS_PER_SECOND: '100000',
  GATEWAY_PRINCIPAL_RATE_LIMIT_BURST: '100000',
};
const LISTED = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' });
const SLEEPING =
  "select pid from pg_stat_activity where datname = current_database() and wait_event = 'PgSleep'";

/** A capability file of a DuckDB, which has a warning for each start. */
async function duckDb(): Promise<{ readonly folder: string; readonly file: string }> {
  const { path, file } = await folderOf(`service: { title: Test, version: 1.0.0 }
database: { driver: duckdb, file: books.duckdb }
capabilities:
  one: { description: One, sql: select 1 as a, result: { a: { type: integer } } }
`);
  const instance = await DuckDBInstance.create(`${path}/books.duckdb`);
  instance.closeSync();
  return { folder: path, file };
}

test('there is no endpoint for agents: 404 for every method, and no upgrade', async () => {
  const { url, port } = await serve();
  for (const method of ['GET', 'POST', 'PUT', 'DELETE', 'OPTIONS', 'PATCH'])
    expect([method, (await ask(`${url}/ws/agent`, { method })).status]).toEqual([method, 404]);
  const connection = await dial(port);
  connection.send(
    Buffer.from(
      'GET /ws/agent HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Protocol: svc-agent.v2\r\n\r\n',
    ),
  );
  await expect.poll(() => connection.text()).toMatch(/^HTTP\/1\.1 404 /);
  connection.socket.destroy();
});

test('callers are checked as by svc-gateway: Origin, Host, keys, sizes, rates', async () => {
  const { url, port, apiKey, call } = await serve({
    GATEWAY_MAX_REQUEST_BODY_BYTES: '2000',
    GATEWAY_PRINCIPAL_RATE_LIMIT_REQUESTS_PER_SECOND: '0.01',
    GATEWAY_PRINCIPAL_RATE_LIMIT_BURST: '3',
  });
  const mcp = (headers: Readonly<Record<string, string>>, key: string | undefined = apiKey) =>
    ask(`${url}/mcp`, { method: 'POST', body: LISTED, apiKey: key, headers });
  expect((await mcp({ origin: 'https://evil.example.com' })).status).toBe(403);
  expect((await mcp({ origin: 'null' })).status).toBe(403);
  const rebound = await dial(port);
  rebound.send(
    Buffer.from(
      `POST /mcp HTTP/1.1\r\nHost: evil.example.com\r\nAuthorization: Bearer ${apiKey}\r\nContent-Type: application/json\r\nContent-Length: ${LISTED.length}\r\n\r\n${LISTED}`,
    ),
  );
  await expect.poll(() => rebound.text()).toMatch(/^HTTP\/1\.1 403 /);
  rebound.socket.destroy();
  expect((await ask(`${url}/mcp`, { method: 'POST', body: LISTED })).status).toBe(401);
  expect((await mcp({}, `${apiKey.slice(0, -1)}x`)).status).toBe(401);
  expect((await call('get_book', { id: 'x'.repeat(3000) })).status).toBe(400);
  const statuses = [];
  for (let n = 0; n < 5; n += 1) statuses.push((await call('get_book', { id: 1 })).status);
  expect(statuses).toContain(200);
  expect(statuses.at(-1)).toBe(429);
});

test('settings of links are ignored, with a warning each', async () => {
  const ignored = {
    GATEWAY_AGENT_PUBLIC_KEY: 'nonsense',
    GATEWAY_AGENT_URLS: 'nonsense',
    GATEWAY_AGENT_WAIT: 'nonsense',
    GATEWAY_READY_AFTER: 'nonsense',
    GATEWAY_REPLICAS: 'nonsense',
    GATEWAY_LINKS_PER_REPLICA: 'nonsense',
    GATEWAY_MAX_AGENT_LINKS: 'nonsense',
  };
  const { process, call } = await serve(
    ignored,
    `metrics: { addr: "127.0.0.1:${await freePort()}" }\n${libraryFile(database)}`,
  );
  expect((await call('get_book', { id: 7 })).status).toBe(200);
  const warnings = recordsOf(process).flatMap(({ event, message }) =>
    event === 'config_warning' ? [String(message)] : [],
  );
  for (const name of Object.keys(ignored))
    expect(warnings.filter((message) => message.startsWith(`${name} is ignored`))).toHaveLength(1);
  expect(
    recordsOf(process).filter(({ event, path }) => event === 'startup_warning' && path === 'metrics.addr'),
  ).toHaveLength(1);
});

test('nothing is said of agents that connect, and nothing twice', async () => {
  const { folder, file } = await duckDb();
  const process = await startProcess(SVC, ['serve', '--config', file, '--key-file', `${folder}/key`], {
    env: { GATEWAY_ADDR: '127.0.0.1:0' },
  });
  onTestFinished(async () => void (await process.stop()));
  await process.waitForLine((line) => line.includes('"event":"listening"'));
  const messages = recordsOf(process).flatMap(({ event, message }) =>
    event === 'config_warning' ? [message] : [],
  );
  expect(messages).toEqual([]);
  expect(process.output('stderr').match(/DuckDB has no accounts/g)).toHaveLength(1);
});

test('one page has the metrics of both sides, but not those of links', async () => {
  const metrics = await freePort();
  const { call } = await serve({ GATEWAY_METRICS_ADDR: `127.0.0.1:${metrics}` });
  await call('get_book', { id: 7 });
  const { status, text } = await ask(`http://127.0.0.1:${metrics}/metrics`);
  expect(status).toBe(200);
  const names = new Set(text.split('\n').flatMap((line) => /^# TYPE (\S+)/.exec(line)?.[1] ?? []));
  expect([...names].some((name) => name.startsWith('svc_gateway_'))).toBe(true);
  expect([...names].some((name) => name.startsWith('svc_agent_'))).toBe(true);
  expect([...names].filter((name) => /link|reconnect|handshake/.test(name))).toEqual([]);
  // Each family stands once.
  expect(text.match(/^# TYPE /gm)).toHaveLength(names.size);
});

test('records of both sides are whole lines under load, and each call has one of each', async () => {
  const { process, call } = await serve(UNLIMITED);
  const CALLS = 1000;
  let left = CALLS;
  const statuses = new Set<number>();
  await Promise.all(
    Array.from({ length: 32 }, async () => {
      while (left-- > 0) statuses.add((await call('get_book', { id: 1 + (left % 500) })).status);
    }),
  );
  expect([...statuses]).toEqual([200]);
  await process.stop();
  const records = recordsOf(process);
  expect(records.filter(({ event }) => event === 'request')).toHaveLength(CALLS);
  expect(records.filter(({ event }) => event === 'call')).toHaveLength(CALLS);
});

describe('signals', () => {
  test('SIGHUP reloads, and never ends it', async () => {
    const { process, file, call } = await serve(UNLIMITED);
    await writeFile(file, libraryFile(database).replaceAll('get_book', 'read_book'));
    process.signal('SIGHUP');
    await process.waitForLine((line) => line.includes('"event":"reloaded"'));
    expect((await call('read_book', { id: 7 })).status).toBe(200);
    await writeFile(file, 'torn: [');
    process.signal('SIGHUP');
    await process.waitForLine((line) => line.includes('"event":"reload_refused"'));
    expect((await call('read_book', { id: 7 })).status).toBe(200);
  });

  test('SIGTERM answers the calls in flight, is deaf to SIGHUP meanwhile, and ends with 0', async () => {
    const { process, port, call } = await serve(UNLIMITED);
    const slow = call('sleep', { seconds: 1.5 });
    await expect.poll(async () => (await database.query(SLEEPING)).length).toBe(1);
    process.signal('SIGTERM');
    await process.waitForLine((line) => line.includes('"event":"shutting_down"'));
    process.signal('SIGHUP');
    expect((await slow).status).toBe(200);
    expect(await process.exited).toEqual({ code: 0, signal: null });
    const late = connect(port, '127.0.0.1');
    await new Promise<void>((resolve) => {
      late.once('error', () => resolve()).once('connect', () => resolve());
    });
    expect(late.readyState).not.toBe('open');
    late.destroy();
  });

  test('a second SIGTERM ends it at once, and its queries', async () => {
    const { process, call } = await serve();
    const slow = call('sleep', { seconds: 50 }).catch(() => undefined);
    await expect.poll(async () => (await database.query(SLEEPING)).length).toBe(1);
    process.signal('SIGTERM');
    await process.waitForLine((line) => line.includes('"event":"shutting_down"'));
    process.signal('SIGTERM');
    const sentAt = performance.now();
    expect(await process.exited).toEqual({ code: 1, signal: null });
    expect(performance.now() - sentAt).toBeLessThan(1000);
    await slow;
    await expect.poll(async () => (await database.query(SLEEPING)).length).toBe(0);
  });
});

test('a caller that leaves has its query ended', async () => {
  const { url, apiKey } = await serve();
  const leaving = new AbortController();
  const call = ask(`${url}/api/v1/capabilities/sleep`, {
    method: 'POST',
    body: '{"seconds":50}',
    apiKey,
    signal: leaving.signal,
  }).catch(() => undefined);
  await expect.poll(async () => (await database.query(SLEEPING)).length).toBe(1);
  leaving.abort();
  await call;
  await expect.poll(async () => (await database.query(SLEEPING)).length, { timeout: 3000 }).toBe(0);
});
