import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { runProcess, startService, testDatabase, type Service, type TestDatabase } from '@svc/testkit';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { askOnce } from './requirements/lone-gateway.testing.ts';
import { agentMetricsPort } from './requirements/metrics-ports.testing.ts';

const TOGETHER = 24;
/** A capability is judged again within a minute, by a process that must start. */
const JUDGED_WITHIN_MS = 90_000;
/** Workers tell their counts each second. */
const COUNTS_TOLD_MS = 3000;
const BOOK = 'create table book as select id, $$book $$ || id as title from generate_series(1, 100) id';

let database: TestDatabase;
let reader: string;
beforeAll(async () => {
  database = await testDatabase({ sql: [BOOK] });
  reader = `${database.name}_reader`;
  await database.execute(
    `create role ${reader} login password 'reader'; grant select on book to ${reader}; create view shelf as table book;
    grant select on shelf to ${reader}`,
  );
});
afterAll(() => database.execute(`drop owned by ${reader}; drop role ${reader}`));

function capabilitiesWith(runtime: string): string {
  const find = (name: string, table: string): string => `  ${name}:
    description: A book
    sql: select title from ${table} where id = :id
    params: { id: { type: integer, required: true } }
    result: { title: { type: string } }
`;
  return `  max_connections: 2
runtime: { ${runtime} }
metrics: { addr: "127.0.0.1:0" }
capabilities:
${find('find_book', 'book')}${find('find_shelved', 'shelf')}`;
}

describe.each([1, 2])('with %i workers', (workers) => {
  let service: Service;
  let port: number;
  beforeAll(async () => {
    const { host, port: at, name } = database;
    service = await startService({
      database: { host, port: at, name, user: reader, password: 'reader' },
      capabilities: capabilitiesWith(`workers: ${workers}`),
      gatewayEnv: { GATEWAY_RATE_LIMIT_REQUESTS_PER_SECOND: '100000' },
    });
    port = await agentMetricsPort(service);
  });
  afterAll(() => service.stop());

  /** The titles that calls of one instant get, each of its own book. */
  async function together(capability = 'find_book'): Promise<void> {
    const answers = await Promise.all(
      Array.from({ length: TOGETHER }, (_, id) => service.call(capability, { id: id + 1 })),
    );
    expect(answers.map(({ json }) => json)).toEqual(
      Array.from({ length: TOGETHER }, (_, id) => ({ rows: [{ title: `book ${id + 1}` }], count: 1 })),
    );
  }

  async function metric(name: string): Promise<number> {
    const { body } = await askOnce(port, 'GET', '/metrics');
    const line = body.split('\n').find((each) => each.startsWith(`svc_agent_${name} `));
    return Number(line?.slice(line.lastIndexOf(' ')));
  }

  /** Calls until further calls were answered by shared transactions. */
  async function untilShared(): Promise<void> {
    const before = await metric('shared_calls_total');
    await expect
      .poll(
        async () => {
          await together();
          return metric('shared_calls_total');
        },
        { timeout: 30_000, interval: 20 },
      )
      .toBeGreaterThan(before);
  }

  async function records(event: string): Promise<readonly string[]> {
    const log = await readFile(join(service.agentFolder(0), 'svc-agent.log'), 'utf8');
    return log.split('\n').filter((line) => line.includes(`"event":"${event}`));
  }

  /** Changes the capability file, and resolves when the agent serves it. */
  async function reload(change: (text: string) => string): Promise<void> {
    const file = join(service.agentFolder(0), 'capability.yaml');
    const before = (await records('reloaded')).length;
    await writeFile(file, change(await readFile(file, 'utf8')));
    service.agents[0]?.signal('SIGHUP');
    await expect.poll(() => records('reloaded'), { timeout: 30_000 }).toHaveLength(before + 1);
  }

  /** Makes calls, none of which is answered by a shared transaction. */
  async function expectOwn(): Promise<void> {
    await pause(COUNTS_TOLD_MS);
    const before = await metric('shared_calls_total');
    for (let round = 0; round < 20; round++) await together();
    await pause(COUNTS_TOLD_MS);
    expect(await metric('shared_calls_total')).toBe(before);
  }

  async function told(): Promise<readonly string[]> {
    return (await records('sharing_')).flatMap((line) => {
      const [, level, event] =
        /"level":"(\w+)","event":"(sharing_\w+)","capability":"find_book"/.exec(line) ?? [];
      return event === undefined ? [] : [`${level} ${event}`];
    });
  }

  test(
    'calls share until their table changes, and again once it is as before; each answer is its own',
    { tags: ['metrics:transactions', 'log:sharing_ended', 'log:sharing_back'], timeout: 180_000 },
    async () => {
      await together('find_shelved');
      await untilShared();
      await pause(COUNTS_TOLD_MS);
      expect(await metric('transactions_total{form="shared"}')).toBeGreaterThan(0);
      expect(await metric('transactions_total{form="own"}')).toBeGreaterThanOrEqual(TOGETHER);

      await database.execute('alter table book enable row level security');
      await database.execute(`create policy all_books on book for select to ${reader} using (true)`);
      await expect
        .poll(
          async () => {
            await together();
            return told();
          },
          { timeout: 30_000, interval: 20 },
        )
        .toEqual(['warn sharing_ended']);
      await database.execute('drop policy all_books on book; alter table book disable row level security');
      await expect
        .poll(() => metric('shared_resends_total'), { timeout: 15_000, interval: 100 })
        .toBeGreaterThan(0);

      await expect
        .poll(told, { timeout: JUDGED_WITHIN_MS, interval: 200 })
        .toEqual(['warn sharing_ended', 'info sharing_back']);
      await untilShared();
      expect(await told()).toHaveLength(2);
    },
  );

  test(
    'a reload takes up that all have their own transactions, and that they may share again',
    { tags: ['file:database.transactions', 'reload:database'], timeout: 120_000 },
    async () => {
      await reload((text) =>
        text.replace('  max_connections: 2', '  transactions: own\n  max_connections: 2'),
      );
      await expectOwn();
      await reload((text) => text.replace('  transactions: own\n', ''));
      await untilShared();
      for (const line of await records('reloaded')) expect(line).toContain('"database_changed":false');
      expect(await told()).toHaveLength(2);
    },
  );

  test(
    'runtime.reverify takes up a judgement before any call notices',
    { tags: ['reload:reverify'], timeout: 120_000 },
    async () => {
      await reload((text) => text.replace('runtime: { ', 'runtime: { reverify: 1s, '));
      const verified = async (): Promise<void> => {
        const before = (await records('reverified')).length;
        // The one that is under way may have begun before.
        await expect
          .poll(() => records('reverified').then(({ length }) => length), { timeout: 30_000 })
          .toBeGreaterThanOrEqual(before + 2);
      };
      await database.execute(
        `alter table book enable row level security; create policy all_books on book for select to ${reader} using (true)`,
      );
      await verified();
      await expectOwn();
      await database.execute('drop policy all_books on book; alter table book disable row level security');
      await verified();
      await untilShared();
      expect(await told()).toHaveLength(2);
    },
  );

  test('check says which share, and why another does not', { tags: ['command:check'] }, async () => {
    const folder = service.agentFolder(0);
    const check = (...flags: readonly string[]): Promise<string> =>
      runProcess(join(folder, 'svc-agent'), ['check', ...flags], { cwd: folder }).then(
        ({ stdout }) => stdout,
      );
    expect(await check()).toContain(
      '\ntransactions: 1 may be shared, 1 is its own: find_shelved (relation)\n',
    );
    const { transactions }: Record<string, unknown> = JSON.parse(await check('--json'));
    expect(transactions).toEqual([
      { capability: 'find_book', form: 'shared' },
      { capability: 'find_shelved', form: 'own', reason: 'relation' },
    ]);
    expect(JSON.parse(await check('--json', '--offline'))).not.toHaveProperty('transactions');
  });
});
