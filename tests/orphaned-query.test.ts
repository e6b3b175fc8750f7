import { startService, testDatabase } from '@svc/testkit';
import { expect, test } from 'vitest';

test('the query of an agent that was killed is ended by the server', async ({ skip, onTestFinished }) => {
  const database = await testDatabase();
  skip((await database.version()) < 140_000, 'before PostgreSQL 14 the server does not look');
  const service = await startService({
    database,
    capabilities: `
capabilities:
  sleep:
    description: Sleeps
    sql: select 1 as a from pg_sleep(60)
    policy: { allow_functions: [pg_sleep] }
    result:
      a: { type: integer }
`,
  });
  onTestFinished(() => service.stop());
  const sql =
    "select pid from pg_stat_activity where datname = current_database() and wait_event = 'PgSleep'";
  const call = service.call('sleep', {});
  while ((await database.query(sql)).length === 0);
  const [agent] = service.agents;
  agent?.signal('SIGKILL');
  expect((await call).status).toBe(503);
  await expect.poll(async () => (await database.query(sql)).length).toBe(0);
});

test('nothing of a shared transaction runs a second after its agent was killed', async ({
  onTestFinished,
}) => {
  const database = await testDatabase({
    sql: ['create table book as select id from generate_series(1, 60) id', 'analyze book'],
  });
  const service = await startService({
    database,
    capabilities: `  max_connections: 1
capabilities:
  count_tuples:
    description: Counts tuples
    sql: select count(*) as a from book b, book c, book d, book e where b.id <= :n and c.id <= :n and d.id <= :n
    params: { n: { type: integer, required: true } }
    result:
      a: { type: integer }
`,
    gatewayEnv: { GATEWAY_RATE_LIMIT_REQUESTS_PER_SECOND: '100000' },
  });
  onTestFinished(() => service.stop());
  const together = async (n: number): Promise<readonly number[]> => {
    const calls = Array.from({ length: 8 }, () => service.call('count_tuples', { n }));
    return (await Promise.all(calls)).map(({ status }) => status);
  };
  const active = "datname = current_database() and application_name = 'svc-agent' and state = 'active'";
  // Only the statement of a shared transaction has the schema of its table.
  const shared = `select pid from pg_stat_activity where ${active} and query like '%"public".book%'`;
  let running: Promise<readonly number[]> = Promise.resolve([]);
  for (let isShared = false; !isShared;) {
    await running;
    for (let round = 0; round < 5; round += 1) await together(1);
    running = together(60);
    let isOver = false;
    void running.finally(() => {
      isOver = true;
    });
    while (!isShared && !isOver) isShared = (await database.query(shared)).length > 0;
  }
  const [agent] = service.agents;
  agent?.signal('SIGKILL');
  const killedAt = performance.now();
  await running;
  await expect
    .poll(() => database.query(`select pid, query from pg_stat_activity where ${active}`), { interval: 20 })
    .toEqual([]);
  expect(performance.now() - killedAt).toBeLessThan(1000);
});
