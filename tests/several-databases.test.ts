import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { runProcess, startFaultProxy, startService, testDatabase } from '@svc/testkit';
import type { FaultProxy, Service, TestDatabase } from '@svc/testkit';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Reloading } from './agent-reload.testing.ts';
import { agentMetricsPort } from './requirements/metrics-ports.testing.ts';

const CAPABILITIES = `metrics: { addr: "127.0.0.1:0" }
capabilities:
  get_book:
    database: canary_library
    description: One book
    sql: select title from book where id = :id
    params: { id: { type: integer, required: true } }
    result: { title: { type: string } }
  count_orders:
    database: canary_shop
    description: How many orders there are
    sql: select count(*) as n from purchase
    result: { n: { type: integer } }
`;
const SESSIONS = `select pid, backend_start::text as started from pg_stat_activity
  where datname = current_database() and application_name = 'svc-agent' order by pid`;

let library: TestDatabase;
let shop: TestDatabase;
let network: FaultProxy;
let service: Service;
let agent: Reloading;

beforeAll(async () => {
  library = await testDatabase({
    sql: ["create table book (id int primary key, title text); insert into book values (1, 'Emma')"],
  });
  shop = await testDatabase({
    sql: ['create table purchase (id int); insert into purchase values (1), (2)'],
  });
  network = await startFaultProxy({ target: shop });
  service = await startService({
    database: { canary_library: library, canary_shop: { ...shop, host: network.host, port: network.port } },
    capabilities: CAPABILITIES,
  });
  const [file = ''] = (await readFile(join(service.agentFolder(0), 'capability.yaml'), 'utf8')).split(
    'metrics:',
  );
  agent = new Reloading(service, file);
});
afterAll(async () => {
  await service.stop();
  await network.close();
});

test('each capability asks its own', async () => {
  expect((await service.call('get_book', { id: 1 })).json).toMatchObject({ rows: [{ title: 'Emma' }] });
  expect((await service.call('count_orders', {})).json).toMatchObject({ rows: [{ n: 2 }] });
});

test('metrics tell them apart', async () => {
  const port = await agentMetricsPort(service);
  const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
  for (const name of ['canary_library', 'canary_shop']) {
    expect(text).toContain(`svc_agent_database_up{database="${name}"} 1`);
    expect(text).toContain(`svc_agent_database_connections_max{database="${name}"} 10`);
    expect(text).toContain(`svc_agent_database_connections{database="${name}",state="busy"} 0`);
    expect(text).toContain(`svc_agent_database_waiting_calls{database="${name}"} 0`);
  }
});

test('callers and the gateway are told of none', async () => {
  const pages = await Promise.all([
    service.call('get_book', { id: 1 }),
    service.call('get_book', { id: 'x' }),
    service.call('count_orders', {}),
    service.get('/openapi.json'),
  ]);
  const told = JSON.stringify(pages) + service.gateway.output();
  expect(told).toContain('get_book');
  expect(told).not.toMatch(/canary/);
  for (const { name } of [library, shop]) expect(told).not.toContain(name);
});

test('one that hangs keeps no call of another waiting', async () => {
  const hanging = await startService({
    database: { canary_library: library, canary_shop: { ...shop, host: network.host, port: network.port } },
    capabilities: `runtime: { max_concurrent_requests: 2, queue_size: 2 }\n${CAPABILITIES}`,
  });
  try {
    expect((await hanging.call('count_orders', {})).status).toBe(200);
    network.stall('both');
    const callers = new AbortController();
    const { signal } = callers;
    const calls = Array.from({ length: 4 }, () =>
      hanging.call('count_orders', {}, { signal }).catch(() => {}),
    );
    const port = await agentMetricsPort(hanging);
    const metrics = async (): Promise<string> => (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
    await expect.poll(metrics).toMatch(/svc_agent_calls_queued 2/);
    expect((await hanging.call('count_orders', {})).status).toBe(503);
    const answers = await Promise.all(Array.from({ length: 4 }, () => hanging.call('get_book', { id: 1 })));
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
    callers.abort();
    await Promise.all(calls);
  } finally {
    network.resume();
    await hanging.stop();
  }
});

test('one that is lost costs only its own capabilities, and comes back', async () => {
  const { port } = network;
  const lost = await agent.answerTo(async () => {
    await network.close();
    await service.call('count_orders', {});
  }, 'database_lost');
  expect(lost).toMatchObject({ database: 'canary_shop' });
  const answers = await Promise.all(Array.from({ length: 20 }, () => service.call('get_book', { id: 1 })));
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
  expect((await service.call('count_orders', {})).status).toBe(502);
  const back = await agent.answerTo(async () => {
    network = await startFaultProxy({ target: shop, port });
  }, 'database_back');
  expect(back).toMatchObject({ database: 'canary_shop' });
  await expect.poll(async () => (await service.call('count_orders', {})).status).toBe(200);
});

test('while one is away, the others are verified again', async () => {
  await agent.reload(`runtime: { reverify: 1s }\n${CAPABILITIES}`);
  const { port } = network;
  await agent.answerTo(async () => {
    await network.close();
    await service.call('count_orders', {});
  }, 'database_lost');
  const drift = await agent.answerTo(() => library.query('alter table book rename to moved'), 'drift');
  expect(drift).toMatchObject({ faults: 1, capabilities: 'get_book' });
  await library.query('alter table moved rename to book');
  const held = await agent.answerTo(async () => {
    network = await startFaultProxy({ target: shop, port });
  }, 'reverified');
  expect(held).toMatchObject({ capabilities: 2 });
  await agent.reload(CAPABILITIES);
});

describe('a reload', () => {
  test('of one leaves the sessions of the others', async () => {
    await service.call('get_book', { id: 1 });
    const before = await library.query(SESSIONS);
    expect(before).not.toEqual([]);
    const head = agent.head.replace('  canary_shop:', '  canary_shop:\n    max_connections: 3');
    const reloaded = await agent.reload(CAPABILITIES, head);
    expect(reloaded).toMatchObject({ event: 'reloaded', database_changed: true });
    await service.call('get_book', { id: 1 });
    // Those of the checks, in both lists, take a moment to close.
    const pids = new Set(before.map(({ pid }) => pid));
    const made = async () => (await library.query(SESSIONS)).filter(({ pid }) => !pids.has(pid));
    await expect.poll(made).toEqual([]);
    expect(await library.query(SESSIONS)).not.toEqual([]);
    expect((await service.call('count_orders', {})).status).toBe(200);
  });

  test('without one closes its connections', async () => {
    const [head = ''] = agent.head.split('  canary_shop:');
    const [capabilities = ''] = CAPABILITIES.split('  count_orders:');
    const reloaded = await agent.reload(`\n${capabilities}`, head);
    expect(reloaded).toMatchObject({ event: 'reloaded', database_changed: true, removed: 'count_orders' });
    await expect.poll(() => shop.query(SESSIONS)).toEqual([]);
    expect((await service.call('get_book', { id: 1 })).status).toBe(200);
    const again = await agent.reload(CAPABILITIES);
    expect(again).toMatchObject({ event: 'reloaded', database_changed: true, added: 'count_orders' });
    expect((await service.call('count_orders', {})).json).toMatchObject({ rows: [{ n: 2 }] });
  });

  test('to a file with one database and no name is refused', async () => {
    const { host, port, name, user, password } = library;
    const section = `database: ${JSON.stringify({ host, port, name, user, password })}\n`;
    const [gateway = ''] = agent.head.split('databases:');
    const [capabilities = ''] = CAPABILITIES.replace(/ +database: .*\n/, '').split('  count_orders:');
    const refused = await agent.reload(section + capabilities, gateway);
    expect(refused).toMatchObject({
      event: 'reload_refused',
      message: expect.stringContaining('databases: cannot be changed'),
    });
    await agent.reload(CAPABILITIES);
  });
});

describe('the commands', () => {
  const run = async (text: string, ...args: readonly string[]) => {
    const file = join(agent.folder, 'tried.yaml');
    await writeFile(file, agent.head + text);
    return runProcess(join(agent.folder, 'svc-agent'), [...args, '--config', file]);
  };

  test('check refuses a capability that names what another database has', async () => {
    const { code, stdout } = await run(
      CAPABILITIES.replace('database: canary_shop', 'database: canary_library'),
      'check',
    );
    expect(code).toBe(2);
    expect(stdout).toMatch(/capabilities\.count_orders\.sql/);
    expect(stdout).not.toMatch(/capabilities\.get_book/);
  });

  test('check names each that cannot be used', async () => {
    const head = agent.head.replaceAll(/port: \d+/g, 'port: 1');
    const file = join(agent.folder, 'away.yaml');
    await writeFile(file, head + CAPABILITIES);
    const { code, stdout } = await runProcess(join(agent.folder, 'svc-agent'), ['check', '--config', file]);
    expect(code).toBe(2);
    expect(stdout).toMatch(/databases\.canary_library: cannot use the database/);
    expect(stdout).toMatch(/databases\.canary_shop: cannot use the database/);
  });

  test('check says what it has asked', async () => {
    const text = await run(CAPABILITIES, 'check');
    expect(text.stdout).toContain('databases: canary_library, canary_shop answer;');
    expect(text.stdout).toContain('account of canary_shop: ');
    const { stdout } = await run(CAPABILITIES, 'check', '--json');
    expect(JSON.parse(stdout)).toMatchObject({
      ok: true,
      databases: ['canary_library', 'canary_shop'],
      account: expect.arrayContaining([expect.objectContaining({ database: 'canary_library' })]),
    });
  });

  test('try and lint ask the one that the capability names', async () => {
    const tried = await run(CAPABILITIES, 'try', 'count_orders', '--json');
    expect(JSON.parse(tried.stdout)).toMatchObject({ ok: true, rows: [{ n: 2 }] });
    expect((await run(CAPABILITIES, 'lint')).code).toBeLessThan(4);
  });

  test('add has to be told which one', async () => {
    const sql = join(agent.folder, 'new.sql');
    await writeFile(sql, 'select id from purchase');
    const unsaid = await run(CAPABILITIES, 'add', 'list_orders', '--sql-file', sql);
    expect(unsaid.code).toBe(2);
    expect(unsaid.stderr).toContain('choose one by `--database`: canary_library, canary_shop');
    const wrong = await run(CAPABILITIES, 'add', 'list_orders', '--sql-file', sql, '--database', 'shp');
    expect(wrong).toMatchObject({ code: 2, stderr: unsaid.stderr });
    const said = await run(
      CAPABILITIES,
      'add',
      'list_orders',
      '--sql-file',
      sql,
      '--database',
      'canary_shop',
      '--print',
    );
    expect(said.code).toBe(0);
    expect(said.stdout).toContain('\n  database: canary_shop\n');
  });
});

test('workers run the calls of each', async () => {
  const tried = await startService({
    database: { canary_library: library, canary_shop: shop },
    capabilities: CAPABILITIES.replace('metrics:', 'runtime: { workers: 2 }\nmetrics:'),
  });
  try {
    expect((await tried.call('get_book', { id: 1 })).json).toMatchObject({ rows: [{ title: 'Emma' }] });
    expect((await tried.call('count_orders', {})).json).toMatchObject({ rows: [{ n: 2 }] });
  } finally {
    await tried.stop();
  }
});

test('diff compares what callers see', async () => {
  const file = join(agent.folder, 'renamed.yaml');
  const renamed = (text: string): string => text.replaceAll('canary_shop', 'other');
  await writeFile(file, renamed(agent.head + CAPABILITIES));
  const before = join(agent.folder, 'before.yaml');
  await writeFile(before, agent.head + CAPABILITIES);
  const { code, stdout } = await runProcess(join(agent.folder, 'svc-agent'), ['diff', before, file]);
  expect({ code, stdout }).toEqual({ code: 0, stdout: expect.not.stringContaining('other') });
});
