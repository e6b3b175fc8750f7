import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import {
  startService,
  testDatabase,
  type RunningProcess,
  type Service,
  type TestDatabase,
} from '@svc/testkit';
import { afterAll, beforeAll, expect, test } from 'vitest';

const LIMITS = `metrics: { addr: "127.0.0.1:0" }
runtime: { max_concurrent_requests: 8, queue_size: 100 }
`;

/** A capability whose rows say which edition of the file they are from. */
function edition(number: number, more = ''): string {
  return `capabilities:
  edition:
    description: Which edition of the file is served
    sql: select ${number} as edition
    result: { edition: { type: integer } }
  slow:
    description: The edition of its begin, a second later
    sql: select ${number} as edition from pg_sleep(1)
    policy: { allow_functions: [pg_sleep] }
    result: { edition: { type: integer } }
${more}`;
}

const ADDED = `  added:
    description: Another one
    sql: select 1 as one
    result: { one: { type: integer } }
`;

let database: TestDatabase;
let service: Service;
let agent: RunningProcess;
let file: string;
let head: string;
beforeAll(async () => {
  database = await testDatabase();
  service = await startService({ database, capabilities: LIMITS + edition(1) });
  const [first] = service.agents;
  if (first === undefined) throw new Error('no agent was started');
  agent = first;
  file = join(service.agentFolder(0), 'capability.yaml');
  head = (await readFile(file, 'utf8')).split('runtime:')[0] ?? '';
});
afterAll(() => service.stop());

async function records(event: string): Promise<readonly Record<string, unknown>[]> {
  const log = await readFile(join(service.agentFolder(0), 'svc-agent.log'), 'utf8');
  return log
    .split('\n')
    .filter((line) => line.includes(`"event":"${event}"`))
    .map((line): Record<string, unknown> => JSON.parse(line));
}

/** The record with which the agent answers the signal. */
async function reload(content: string): Promise<Record<string, unknown>> {
  await writeFile(file, content);
  const ended = async (): Promise<readonly Record<string, unknown>[]> => [
    ...(await records('reloaded')),
    ...(await records('reload_refused')),
  ];
  const before = await ended();
  agent.signal('SIGHUP');
  await expect.poll(ended, { timeout: 10_000, interval: 20 }).toHaveLength(before.length + 1);
  const times = new Set(before.map(({ time }) => time));
  const record = (await ended()).find(({ time }) => !times.has(time));
  if (record === undefined) throw new Error('no record');
  return record;
}

const whole = (capabilities: string, limits = LIMITS): string =>
  head + limits.slice(limits.indexOf('runtime:')) + capabilities;

test('SIGHUP: what callers see alike is swapped in place, and a call that runs keeps its query', async () => {
  const running = service.call('slow', {});
  await expect.poll(() => service.call('edition', {})).toMatchObject({ json: { rows: [{ edition: 1 }] } });
  const record = await reload(whole(edition(2)));
  expect(record).toMatchObject({
    event: 'reloaded',
    trigger: 'SIGHUP',
    capabilities: 2,
    changed: 'edition, slow',
    database_changed: false,
    links_replaced: 0,
    links_waiting: 0,
  });
  expect(await service.call('edition', {})).toMatchObject({ json: { rows: [{ edition: 2 }] } });
  expect(await running).toMatchObject({ json: { rows: [{ edition: 1 }] } });
});

test('what is at fault is refused, with every fault and the capabilities at fault, and the set before serves on', async () => {
  const faulty = edition(3, ADDED.replace('select 1', 'select nothing_there')).replace(
    'select 3 as edition from',
    'select wrong as edition from',
  );
  const record = await reload(whole(faulty));
  expect(record).toMatchObject({ event: 'reload_refused', faults: 2, capabilities: 'slow, added' });
  expect(record['message']).toMatch(
    /^capabilities\.slow\.sql \(line \d+, column \d+\): .+\ncapabilities\.added\.sql /,
  );
  expect(agent.output('stderr')).toContain(
    'not reloaded, what was there before serves on: capabilities.slow.sql',
  );
  expect(agent.output('stderr')).not.toContain('nothing_there');
  expect(await service.call('edition', {})).toMatchObject({ json: { rows: [{ edition: 2 }] } });
  expect(await service.call('added', {})).toMatchObject({ status: 404 });
});

test('another description goes by another link, whose capabilities the gateway lists when the record is written', async () => {
  const running = service.call('slow', {});
  const record = await reload(whole(edition(4, ADDED)));
  expect(record).toMatchObject({ event: 'reloaded', added: 'added', links_replaced: 1, links_waiting: 0 });
  expect(await service.call('added', {})).toMatchObject({ json: { rows: [{ one: 1 }] } });
  expect(await service.call('edition', {})).toMatchObject({ json: { rows: [{ edition: 4 }] } });
  expect((await running).status).toBe(200);
});

test('what a running agent cannot take up is a fault that says restart', async () => {
  const limits = LIMITS.replace('}\nruntime', '}\nlogging: { max_files: 2 }\nruntime');
  const record = await reload(
    whole(edition(5), `${limits.slice(limits.indexOf('runtime:'))}logging: { max_files: 2 }\n`),
  );
  expect(record).toMatchObject({ event: 'reload_refused', faults: 1 });
  expect(record['message']).toMatch(/^logging: .*restart the agent/);
});
