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
