import { copyFile, mkdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import {
  createAgentSecret,
  makeAgentFolder,
  startFaultProxy,
  startService,
  temporaryFolder,
  testDatabase,
  runProcess,
  SVC_GATEWAY,
  type FaultProxy,
  type Service,
  type TestDatabase,
} from '@svc/testkit';
import { afterAll, afterEach, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { change } from '../packages/agent/src/databases/duckdb/change.testing.ts';
import { Reloading } from './agent-reload.testing.ts';
import { startDev } from './workbench.testing.ts';
import { agentMetricsPort } from './requirements/metrics-ports.testing.ts';

/** The folder that holds `@duckdb`. */
const INSTALLED = join(dirname(createRequire(import.meta.url).resolve('@duckdb/node-api')), '../../..');

const CAPABILITIES = `metrics: { addr: "127.0.0.1:0" }
capabilities:
  get_book:
    database: library
    description: One book
    sql: select title from book where id = :id
    params: { id: { type: integer, required: true } }
    result: { title: { type: string } }
  count_orders:
    database: canary_shop
    description: How many orders there are
    sql: select count(*) as n from purchase where kind = :kind
    params: { kind: { type: string, required: true } }
    result: { n: { type: integer } }
`;
const ADDED = `  list_orders:
    database: canary_shop
    description: The orders
    sql: select id from purchase order by id
    result: { id: { type: integer } }
`;
const REQUIRES_ALL = CAPABILITIES.replace('metrics:', 'runtime: { require_all_databases: true }\nmetrics:');
const ORDERS = { kind: 'web' };
const UNAVAILABLE = {
  error: {
    code: 'AGENT_DATABASE_UNAVAILABLE',
    message: 'the database of the capability is not available, try again later',
  },
};
/** The pause between two attempts has doubled a few times by then. */
const BACK_WITHIN = { timeout: 30_000 };

let library: TestDatabase;
let shop: TestDatabase;
/** The way to `shop`. */
let network: FaultProxy;
let port: number;
let service: Service | undefined;

beforeAll(async () => {
  library = await testDatabase({
    sql: ["create table book (id int primary key, title text); insert into book values (1, 'Emma')"],
  });
  shop = await testDatabase({
    sql: [
      "create type channel as enum ('web', 'phone'); create table purchase (id int, kind channel); insert into purchase values (1, 'web'), (2, 'web')",
    ],
  });
  network = await startFaultProxy({ target: shop });
  ({ port } = network);
});
afterEach(comeBack);
afterAll(() => network.close());

const away = (): Promise<void> => network.close();
async function comeBack(): Promise<void> {
  await network.close();
  network = await startFaultProxy({ target: shop, port });
}

interface Started {
  readonly service: Service;
  readonly agent: Reloading;
}

/** For the running test alone. */
async function start(options: Partial<Parameters<typeof startService>[0]> = {}): Promise<Started> {
  const started = await startShared(options);
  onTestFinished(() => started.service.stop());
  return started;
}

/** For several tests, the last of which stops it. */
async function startShared(options: Partial<Parameters<typeof startService>[0]> = {}): Promise<Started> {
  const started = await startService({
    database: { library, canary_shop: { ...shop, host: network.host, port } },
    capabilities: CAPABILITIES,
    ...options,
  });
  service = started;
  const [head = ''] = (await readFile(join(started.agentFolder(0), 'capability.yaml'), 'utf8')).split(
    'metrics:',
  );
  return { service: started, agent: new Reloading(started, head) };
}

async function statusOf(name: string, params: unknown = ORDERS): Promise<number> {
  if (service === undefined) throw new Error('nothing was started');
  return (await service.call(name, params)).status;
}

/** The folder of an agent whose gateway is not there, since commands need none. */
async function agentFolder(
  text: string,
  databases: Readonly<Record<string, TestDatabase>> = {
    library,
    canary_shop: { ...shop, host: network.host, port },
  },
): Promise<string> {
  const home = await temporaryFolder('databases-away');
  onTestFinished(() => home.remove());
  const sections = Object.entries(databases).map(([key, { host, port, name, user, password }]) => {
    return `  ${key}: ${JSON.stringify({ host, port, name, user, password })}\n`;
  });
  const folder = join(home.path, 'agent');
  const { agent_private_key: key } = createAgentSecret();
  const head = `gateway: { url: "ws://127.0.0.1:1/ws/agent", agent_private_key: "${key}" }
databases:
${sections.join('')}`;
  await makeAgentFolder(folder, { 'capability.yaml': head + text });
  return folder;
}

function svcAgent(folder: string, ...args: readonly string[]): ReturnType<typeof runProcess> {
  return runProcess(join(folder, 'svc-agent'), args, { cwd: folder });
}

async function callOverMcp(service: Service): Promise<string> {
  const answer = await fetch(`${service.url}/mcp`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${service.apiKeys['all']}`,
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
    },
    body: JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: { name: 'count_orders', arguments: ORDERS },
    }),
  });
  return await answer.text();
}

const bookStatus = (): Promise<number> => statusOf('get_book', { id: 1 });

test(
  'a database that is away at the start costs its own capabilities, over REST and MCP, until it is there',
  { tags: ['error:AGENT_DATABASE_UNAVAILABLE', 'setting:GATEWAY_READY_DATABASES'] },
  async () => {
    await away();
    const { service, agent } = await start({ gatewayEnv: { GATEWAY_READY_DATABASES: 'all' } });
    expect(await bookStatus()).toBe(200);
    const refused = await service.call('count_orders', ORDERS);
    expect(refused).toMatchObject({ status: 503, json: UNAVAILABLE });
    expect(refused.headers.get('retry-after')).toBe('5');
    const [record] = await agent.records('database_away');
    expect(record).toMatchObject({ database: 'canary_shop', level: 'warn' });
    expect(record?.['detail']).toContain('ECONNREFUSED');
    const described = await service.get('/openapi.json');
    expect(described.text).toContain('count_orders');
    expect(described.text).toContain('AGENT_DATABASE_UNAVAILABLE');
    const ready = await service.get('/readyz');
    expect(ready).toMatchObject({
      status: 503,
      json: { ok: false, agent_connected: true, databases_ready: false },
    });
    const overMcp = await callOverMcp(service);
    expect(overMcp).toContain('"isError":true');
    expect(overMcp).toMatch(/call again later/);
    expect(JSON.stringify([refused, described, ready, overMcp]) + service.gateway.output()).not.toContain(
      'canary',
    );
    const metrics = await (await fetch(`http://127.0.0.1:${await agentMetricsPort(service)}/metrics`)).text();
    expect(metrics).toContain('svc_agent_database_up{database="canary_shop"} 0');
    expect(metrics).toContain('svc_agent_database_up{database="library"} 1');

    await comeBack();
    await expect.poll(() => statusOf('count_orders'), BACK_WITHIN).toBe(200);
    expect((await service.call('count_orders', ORDERS)).json).toMatchObject({ rows: [{ n: 2 }] });
    // What only the database knew is known to callers now: the labels of the enum.
    await expect.poll(async () => (await service.get('/openapi.json')).text).toContain('"phone"');
    expect((await service.call('count_orders', { kind: 'fax' })).status).toBe(400);
    await expect.poll(async () => (await service.get('/readyz')).status).toBe(200);
    expect((await agent.records('database_back'))[0]).toMatchObject({ database: 'canary_shop' });

    // Once verified, a database that is lost fails calls as ever.
    await away();
    await expect.poll(() => statusOf('count_orders')).toBe(502);
    await expect.poll(async () => (await service.get('/readyz')).status).toBe(503);
    expect(await bookStatus()).toBe(200);
    await comeBack();
    await expect.poll(() => statusOf('count_orders'), BACK_WITHIN).toBe(200);
    await expect.poll(async () => (await service.get('/readyz')).status).toBe(200);
  },
);

test('workers of gateway and agent learn of it, too', async () => {
  await away();
  const { service } = await start({
    capabilities: CAPABILITIES.replace('metrics:', 'runtime: { workers: 2 }\nmetrics:'),
    gatewayEnv: { GATEWAY_WORKERS: '2', GATEWAY_READY_DATABASES: 'all', GATEWAY_MAX_AGENT_LINKS: '1' },
  });
  // Each request may meet the worker that has the link, or the other one.
  const statuses = async (ask: () => Promise<number>): Promise<ReadonlySet<number>> =>
    new Set(await Promise.all(Array.from({ length: 16 }, ask)));
  const ready = async (): Promise<number> =>
    (await service.get('/readyz', { headers: { connection: 'close' } })).status;
  expect(await statuses(() => statusOf('count_orders'))).toEqual(new Set([503]));
  expect(await statuses(ready)).toEqual(new Set([503]));
  expect(await statuses(bookStatus)).toEqual(new Set([200]));
  await comeBack();
  await expect.poll(() => statusOf('count_orders'), BACK_WITHIN).toBe(200);
  await expect.poll(() => statuses(ready)).toEqual(new Set([200]));
  expect(await statuses(() => statusOf('count_orders'))).toEqual(new Set([200]));
});

test('with `any`, one that is ready is enough', async () => {
  await away();
  const { service } = await start({ gatewayEnv: { GATEWAY_READY_DATABASES: 'any' } });
  await expect.poll(async () => (await service.get('/readyz')).status).toBe(200);
});

describe('the agent does not start', () => {
  test('where the file requires all', { tags: ['file:runtime.require_all_databases'] }, async () => {
    await away();
    const { code, stderr } = await svcAgent(await agentFolder(REQUIRES_ALL));
    expect(code).toBe(2);
    expect(stderr).toContain('databases.canary_shop: cannot use the database');
  });

  test('where no database can be used', async () => {
    const nowhere = { library: { ...library, port: 1 }, canary_shop: { ...shop, port: 1 } };
    const { code, stderr } = await svcAgent(await agentFolder(CAPABILITIES, nowhere));
    expect(code).toBe(2);
    expect(stderr).toContain('databases.canary_shop: cannot use the database');
    expect(stderr).toContain('databases.library: cannot use the database');
  });
});

test('check refuses a file with a database that is away, and try fails for its capabilities alone', async () => {
  await away();
  const folder = await agentFolder(CAPABILITIES);
  expect(await svcAgent(folder, 'check')).toMatchObject({
    code: 2,
    stdout: expect.stringContaining('canary_shop'),
  });
  expect(await svcAgent(folder, 'try', 'count_orders', '--param', 'kind=web')).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('databases.canary_shop: cannot use'),
  });
  expect(await svcAgent(folder, 'try', 'get_book', '--param', 'id=1')).toMatchObject({ code: 0 });
});

describe('a reload while one is away', () => {
  let started: Started;
  beforeAll(async () => {
    started = await startShared();
  });
  afterAll(() => started.service.stop());

  test('keeps its capabilities, and those that are new wait for it', async () => {
    const { agent } = started;
    expect(await statusOf('count_orders')).toBe(200);
    const before = (await service?.get('/openapi.json'))?.text;
    await away();
    const same = await agent.reload(CAPABILITIES);
    expect(same).toMatchObject({ event: 'reloaded', links_replaced: 0, database_changed: false });
    expect((await service?.get('/openapi.json'))?.text).toBe(before);
    expect(await statusOf('count_orders')).toBe(502);

    const more = CAPABILITIES.replace('select title', 'select upper(title) as title') + ADDED;
    const reloaded = await agent.reload(more);
    expect(reloaded).toMatchObject({ event: 'reloaded', added: 'list_orders', changed: 'get_book' });
    expect((await service?.call('get_book', { id: 1 }))?.json).toMatchObject({ rows: [{ title: 'EMMA' }] });
    expect(await statusOf('list_orders', {})).toBe(503);
    expect(await statusOf('count_orders')).toBe(502);

    await comeBack();
    await expect.poll(() => statusOf('list_orders', {}), BACK_WITHIN).toBe(200);
    expect(await statusOf('count_orders')).toBe(200);
  });

  test('has what is changed wait for it', async () => {
    await away();
    await started.agent.reload(CAPABILITIES.replace('count(*) as n', 'count(id) as n'));
    expect(await service?.call('count_orders', ORDERS)).toMatchObject({ status: 503, json: UNAVAILABLE });
    await comeBack();
    await expect.poll(() => statusOf('count_orders'), BACK_WITHIN).toBe(200);
  });

  test('is refused where the file requires all', async () => {
    await away();
    expect(await started.agent.reload(REQUIRES_ALL)).toMatchObject({
      event: 'reload_refused',
      message: expect.stringContaining('databases.canary_shop: cannot use the database'),
    });
  });

  test('to a file of DuckDB that is missing has it served once it is there', async () => {
    const { service, agent } = started;
    // As `npm install` does it.
    await mkdir(join(agent.folder, 'node_modules'));
    await symlink(join(INSTALLED, '@duckdb'), join(agent.folder, 'node_modules/@duckdb'));
    const [head] = agent.head.split('  canary_shop:');
    const text = `
  sales: { driver: duckdb, file: sales.duckdb }
metrics: { addr: "127.0.0.1:0" }
capabilities:
  get_book: { database: library, description: One, sql: select title from book, result: { title: { type: string } } }
  total: { database: sales, description: All, sql: select max(n) as n from sale, result: { n: { type: integer } } }
`;
    const reloaded = await agent.reload(text, head);
    expect(reloaded).toMatchObject({ event: 'reloaded', database_changed: true });
    expect([await statusOf('get_book', {}), await statusOf('total', {})]).toEqual([200, 503]);
    await change(join(agent.folder, 'sales.duckdb'), 'create table sale as select 7 as n');
    await expect.poll(() => statusOf('total', {}), BACK_WITHIN).toBe(200);
    expect((await service.call('total', {})).json).toMatchObject({ rows: [{ n: 7 }] });
  });
});

describe('one that comes back', () => {
  test('and does not hold what the file says is refused until a reload', async () => {
    await away();
    const { agent } = await start({ gatewayEnv: { GATEWAY_READY_DATABASES: 'all' } });
    await shop.execute('alter table purchase rename to moved');
    try {
      const refused = await agent.answerTo(comeBack, 'database_refused');
      expect(refused).toMatchObject({
        database: 'canary_shop',
        level: 'error',
        capabilities: 'count_orders',
        message: expect.stringContaining('capabilities.count_orders.sql'),
      });
      expect(await statusOf('count_orders')).toBe(503);
      expect(await bookStatus()).toBe(200);
      expect(await agent.reload(CAPABILITIES)).toMatchObject({ event: 'reload_refused' });
      expect(await statusOf('count_orders')).toBe(503);
    } finally {
      await shop.execute('alter table moved rename to purchase');
    }
    expect(await agent.reload(CAPABILITIES)).toMatchObject({ event: 'reloaded' });
    expect(await statusOf('count_orders')).toBe(200);
    expect(await agent.records('database_back')).toHaveLength(1);
    await expect.poll(async () => (await service?.get('/readyz'))?.status).toBe(200);
  });

  test('with an account that may write is refused where the file forbids it', async () => {
    await away();
    const { agent } = await start();
    const head = agent.head.replace('  canary_shop:', '  canary_shop:\n    require_readonly_account: true');
    expect(await agent.reload(CAPABILITIES, head)).toMatchObject({ event: 'reloaded' });
    const refused = await agent.answerTo(comeBack, 'database_refused');
    expect(refused['message']).toContain('databases.canary_shop.require_readonly_account');
    expect(await statusOf('count_orders')).toBe(503);
  });

  test('and is lost while it is verified is tried again', async () => {
    await away();
    const { agent } = await start();
    // EXPLAIN waits for the lock: the verification is under way when the connection is reset.
    const locked = shop.execute(
      'begin; lock table purchase in access exclusive mode; select pg_sleep(4); commit',
    );
    await comeBack();
    await expect
      .poll(
        async () =>
          (await shop.query("select 1 from pg_locks where not granted and relation = 'purchase'::regclass"))
            .length,
        BACK_WITHIN,
      )
      .toBeGreaterThan(0);
    await away();
    await locked;
    expect(await statusOf('count_orders')).toBe(503);
    expect(await agent.records('database_refused')).toEqual([]);
    await comeBack();
    await expect.poll(() => statusOf('count_orders'), BACK_WITHIN).toBe(200);
  });
});

test('two that are away come back each for itself', async () => {
  const other = await testDatabase({ sql: ['create table item (id int); insert into item values (7)'] });
  const second = await startFaultProxy({ target: other });
  await second.close();
  await away();
  const capabilities = `${CAPABILITIES}  get_item:
    database: store
    description: The item
    sql: select id from item
    result: { id: { type: integer } }
`;
  const { agent } = await start({
    database: {
      library,
      canary_shop: { ...shop, host: network.host, port },
      store: { ...other, host: second.host, port: second.port },
    },
    capabilities,
  });
  expect(await agent.records('database_away')).toHaveLength(2);
  expect([await statusOf('count_orders'), await statusOf('get_item', {}), await bookStatus()]).toEqual([
    503, 503, 200,
  ]);
  await comeBack();
  await expect.poll(() => statusOf('count_orders'), BACK_WITHIN).toBe(200);
  expect(await statusOf('get_item', {})).toBe(503);
  const back = await startFaultProxy({ target: other, port: second.port });
  await expect.poll(() => statusOf('get_item', {}), BACK_WITHIN).toBe(200);
  await service?.stop();
  await back.close();
});

test('the workbench starts without one, and a save keeps what waits for it', async () => {
  await away();
  const folder = await agentFolder(CAPABILITIES);
  await copyFile(SVC_GATEWAY, join(folder, 'svc-gateway'));
  const bench = await startDev(folder);
  try {
    const statuses = async (): Promise<readonly number[]> => [
      (await bench.call('get_book', { id: 1 })).status,
      (await bench.call('count_orders', ORDERS)).status,
    ];
    expect(await statuses()).toEqual([200, 503]);
    await writeFile(
      join(folder, 'capability.yaml'),
      (await readFile(join(folder, 'capability.yaml'), 'utf8')) + ADDED,
    );
    expect(await bench.next('served', 'refused')).toMatchObject({ event: 'served', capabilities: 3 });
    expect(await statuses()).toEqual([200, 503]);
    await comeBack();
    await expect.poll(statuses, BACK_WITHIN).toEqual([200, 200]);
    expect((await bench.call('list_orders', {})).status).toBe(200);
  } finally {
    await bench.process.stop();
  }
});

test('an agent that ends while one is away leaves nothing behind', async () => {
  await away();
  const { service } = await start();
  // It accepts, and says nothing: the attempt to connect hangs.
  await comeBack();
  network.stall('both');
  await expect.poll(() => network.connections(), BACK_WITHIN).toBeGreaterThan(0);
  const [agent] = service.agents;
  expect(await agent?.stop(5000)).toEqual({ code: 0, signal: null });
  network.resume();
  await expect.poll(() => network.connections()).toBe(0);
});
