import { Agent, request } from 'node:http';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startService, testDatabase, type Service, type TestDatabase } from '@svc/testkit';
import { LOAD_CAPABILITIES, LOAD_SQL, startLoad } from './steady-load.testing.ts';

const CAPABILITIES = `${LOAD_CAPABILITIES}
  sleep:
    description: Takes very long
    sql: select pg_sleep(50)::text as slept
    policy: { timeout: 1m, allow_functions: [pg_sleep] }
    result: { slept: { type: string } }
  short_sleep:
    description: May not take so long
    sql: select pg_sleep(50)::text as slept
    policy: { timeout: 500ms, allow_functions: [pg_sleep] }
    result: { slept: { type: string } }
`;
const SLEEPING = `select pid from pg_stat_activity where datname = current_database() and query like '%pg_sleep(50)%'
  and state <> 'idle' and pid <> pg_backend_pid()`;
const SESSIONS = `select pid from pg_stat_activity where datname = current_database() and application_name = 'svc-agent'`;

let database: TestDatabase;
let service: Service;
beforeAll(async () => {
  database = await testDatabase({ sql: [LOAD_SQL] });
  service = await startService({ database, capabilities: CAPABILITIES });
});
afterAll(() => service.stop());

/** Milliseconds until the database runs none of the long queries any more. */
async function untilNoneSleeps(): Promise<number> {
  const started = performance.now();
  const elapsed = (): number => performance.now() - started;
  while ((await database.query(SLEEPING)).length > 0 && elapsed() < 10_000);
  return elapsed();
}

/** Asks for the long query and closes the connection after `ms`. */
function leaveAfter(ms: number, agent: Agent): Promise<void> {
  return new Promise((resolve) => {
    const headers = {
      authorization: `Bearer ${service.apiKeys['all'] ?? ''}`,
      'content-type': 'application/json',
    };
    const call = request(`${service.url}/api/v1/capabilities/sleep`, { method: 'POST', headers, agent });
    call.on('error', () => {});
    call.on('close', resolve);
    call.end('{}');
    setTimeout(() => call.destroy(), ms);
  });
}

test(
  'the queries of callers that leave end, and no other query does',
  { tags: ['agent:cancel'], timeout: 60_000 },
  async () => {
    const bystanders = startLoad(service, 8);
    const agent = new Agent();
    let left = 0;
    const leaver = async (): Promise<void> => {
      while (left < 1000) await leaveAfter(left++ % 40, agent);
    };
    await Promise.all(Array.from({ length: 20 }, leaver));
    // A second is promised, and the tests below hold it for a few queries. With a thousand, the neighbours of this file may
    // keep the server from taking a cancel request for that long; it then ends the query itself, a second later.
    expect(await untilNoneSleeps()).toBeLessThan(5000);
    await bystanders.settled();
    await bystanders.stop();
    agent.destroy();
    expect(bystanders.faults()).toEqual([]);
    expect((await database.query(SESSIONS)).length).toBeLessThanOrEqual(10);
  },
);

test(
  'a query whose time is up ends in the database, and the call with 504',
  { tags: ['agent:cancel', 'error:AGENT_QUERY_TIMEOUT', 'limit:timeout'] },
  async () => {
    const started = performance.now();
    const answers = await Promise.all(Array.from({ length: 10 }, () => service.call('short_sleep', {})));
    expect(performance.now() - started).toBeLessThan(5000);
    expect(await untilNoneSleeps()).toBeLessThan(5000);
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([504]));
    expect(answers[0]?.json).toMatchObject({ error: { code: 'AGENT_QUERY_TIMEOUT' } });
  },
);

test(
  'when the gateway is lost, the queries of its calls end within a second',
  { tags: ['agent:cancel'] },
  async () => {
    const calls = Array.from({ length: 5 }, () => service.call('sleep', {}).catch(() => 'lost'));
    await expect.poll(() => database.query(SLEEPING)).toHaveLength(5);
    service.gateway.signal('SIGKILL');
    await service.gateway.exited;
    expect(await untilNoneSleeps()).toBeLessThan(5000);
    expect(new Set(await Promise.all(calls))).toEqual(new Set(['lost']));
  },
);
