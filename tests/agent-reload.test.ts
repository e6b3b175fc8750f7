import { readFile, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import {
  runProcess,
  startService,
  testDatabase,
  type RunningProcess,
  type Service,
  type TestDatabase,
} from '@svc/testkit';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

const ANSWERED_WITHIN_MS = 15_000;

type Record_ = Readonly<Record<string, unknown>>;

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
    sql: select id from counted
    result: { id: { type: integer } }
`;

let database: TestDatabase;
beforeAll(async () => {
  database = await testDatabase({ sql: ['create table counted as select 1 as id'] });
});

/** An agent, its file and its log. */
class Reloading {
  readonly service: Service;
  readonly agent: RunningProcess;
  readonly folder: string;
  /** Of the file: what stands before `runtime`. */
  readonly head: string;

  constructor(service: Service, head: string) {
    const [agent] = service.agents;
    if (agent === undefined) throw new Error('no agent was started');
    this.service = service;
    this.agent = agent;
    this.folder = service.agentFolder(0);
    this.head = head;
  }

  async records(...events: readonly string[]): Promise<readonly Record_[]> {
    const log = await readFile(join(this.folder, 'svc-agent.log'), 'utf8');
    return log
      .split('\n')
      .filter((line) => events.some((event) => line.includes(`"event":"${event}"`)))
      .map((line): Record_ => JSON.parse(line));
  }

  /** The record with which the agent answers what `act` does. */
  async answerTo(act: () => unknown, ...events: readonly string[]): Promise<Record_> {
    const before = (await this.records(...events)).length;
    await act();
    const deadline = performance.now() + ANSWERED_WITHIN_MS;
    while (performance.now() < deadline) {
      const record = (await this.records(...events))[before];
      if (record !== undefined) return record;
      await pause(20);
    }
    throw new Error(`no ${events.join(' or ')} within ${ANSWERED_WITHIN_MS} ms`);
  }

  write(text: string): Promise<void> {
    return writeFile(join(this.folder, 'capability.yaml'), this.head + text);
  }

  /** What callers get of `edition`. */
  async edition(): Promise<unknown> {
    const { json } = await this.service.call('edition', {});
    return JSON.stringify(json).match(/"edition":(\d+)/)?.[1] ?? json;
  }
}

async function start(
  limits: string,
  options: Partial<Parameters<typeof startService>[0]> = {},
): Promise<Reloading> {
  const service = await startService({ database, capabilities: limits + edition(1), ...options });
  const text = await readFile(join(service.agentFolder(0), 'capability.yaml'), 'utf8');
  return new Reloading(service, text.slice(0, text.indexOf(limits)));
}

describe('SIGHUP', () => {
  const LIMITS = 'runtime: { max_concurrent_requests: 8, queue_size: 100 }\n';
  let it: Reloading;
  beforeAll(async () => {
    it = await start(LIMITS);
  });
  afterAll(() => it.service.stop());

  const reload = (text: string): Promise<Record_> =>
    it.answerTo(
      async () => {
        await it.write(text);
        it.agent.signal('SIGHUP');
      },
      'reloaded',
      'reload_refused',
    );

  test(
    'swaps in place what callers see alike, and a call that runs keeps its query',
    { tags: ['reload:running'] },
    async () => {
      const running = it.service.call('slow', {});
      expect(await it.edition()).toBe('1');
      expect(await reload(LIMITS + edition(2))).toMatchObject({
        event: 'reloaded',
        trigger: 'SIGHUP',
        capabilities: 2,
        changed: 'edition, slow',
        database_changed: false,
        links_replaced: 0,
        links_waiting: 0,
      });
      expect(await it.edition()).toBe('2');
      expect(await running).toMatchObject({ json: { rows: [{ edition: 1 }] } });
    },
  );

  test(
    'refuses what is at fault, with every fault and the capabilities at fault, and serves on what was there',
    { tags: ['reload:refused'] },
    async () => {
      const faulty = edition(3, ADDED.replace('counted', 'nothing_there'));
      const record = await reload(LIMITS + faulty.replace('select 3 as edition from', 'select wrong from'));
      expect(record).toMatchObject({ event: 'reload_refused', faults: 2, capabilities: 'slow, added' });
      expect(record['message']).toMatch(
        /^capabilities\.slow\.sql \(line \d+, column \d+\): .+\ncapabilities\.added\.sql /,
      );
      expect(record['detail']).toContain('nothing_there');
      const said = it.agent.output('stderr');
      expect(said).toContain('not reloaded, what was there before serves on: capabilities.slow.sql');
      expect(said).not.toContain('nothing_there');
      expect(await it.edition()).toBe('2');
      expect(await it.service.call('added', {})).toMatchObject({ status: 404 });
    },
  );

  test.each([
    ['a pipe that nobody writes to', (path: string) => runProcess('mkfifo', [path])],
    ['a device without an end', (path: string) => symlink('/dev/zero', path)],
  ])('refuses %s, and answers calls meanwhile', { tags: ['reload:refused'] }, async (_title, make) => {
    const file = join(it.folder, 'capability.yaml');
    const replace = async (): Promise<void> => {
      await rm(file, { force: true });
      await make(file);
      it.agent.signal('SIGHUP');
    };
    try {
      expect(await it.answerTo(replace, 'reload_refused')).toMatchObject({
        message: expect.stringContaining('it is a pipe, a device or the like'),
      });
      expect(await it.edition()).toBe('2');
    } finally {
      await rm(file);
    }
  });

  test(
    'has another link take the place of the one, which the gateway counts when the record is written',
    { tags: ['reload:links'] },
    async () => {
      const running = it.service.call('slow', {});
      expect(await it.edition()).toBe('2');
      expect(await reload(LIMITS + edition(4, ADDED))).toMatchObject({
        event: 'reloaded',
        added: 'added',
        changed: 'edition, slow',
        links_replaced: 1,
        links_waiting: 0,
      });
      expect(await it.service.call('added', {})).toMatchObject({ json: { rows: [{ id: 1 }] } });
      expect(await it.edition()).toBe('4');
      expect(await running).toMatchObject({ json: { rows: [{ edition: 2 }] } });
      const wider = LIMITS.replace('100', '200');
      expect(await reload(wider + edition(4, ADDED))).toMatchObject({ event: 'reloaded', links_replaced: 1 });
      const back = await reload(LIMITS + edition(4));
      expect(back).toMatchObject({ event: 'reloaded', removed: 'added', links_replaced: 1 });
      expect(await it.service.call('added', {})).toMatchObject({ status: 404 });
    },
  );

  test('says restart of what a running agent cannot take up', { tags: ['reload:restart'] }, async () => {
    const record = await reload(
      `${LIMITS.replace('8,', '8, workers: 2,')}logging: { max_files: 2 }\n${edition(5)}`,
    );
    expect(record).toMatchObject({ event: 'reload_refused', faults: 2 });
    expect(record['message']).toMatch(
      /^runtime\.workers: .*restart the agent.*\nlogging: .*restart the agent/,
    );
    expect(await it.edition()).toBe('4');
  });
});

describe('with workers on both sides, --watch and runtime.reverify', () => {
  const LIMITS = 'runtime: { workers: 2, reverify: 1s }\nmetrics: { addr: "127.0.0.1:0" }\n';
  let it: Reloading;
  beforeAll(async () => {
    it = await start(LIMITS, { agentFlags: ['--watch'], gatewayEnv: { GATEWAY_WORKERS: '2' } });
  });
  afterAll(() => it.service.stop());

  test(
    'a file that is replaced is taken up by every worker, over a link to each',
    { tags: ['reload:watch', 'reload:workers'] },
    async () => {
      const replaced = await it.answerTo(async () => {
        const beside = join(it.folder, 'next.yaml');
        await writeFile(beside, it.head + LIMITS + edition(2, ADDED));
        await rename(beside, join(it.folder, 'capability.yaml'));
      }, 'reloaded');
      expect(replaced).toMatchObject({ trigger: 'watch', added: 'added', links_waiting: 0 });
      const editions = await Promise.all(Array.from({ length: 30 }, () => it.edition()));
      expect(new Set(editions)).toEqual(new Set(['2']));
      expect(await it.answerTo(() => it.write(LIMITS + edition(3, ADDED)), 'reloaded')).toMatchObject({
        changed: 'edition, slow',
        links_replaced: 0,
      });
      expect(await it.edition()).toBe('3');
    },
  );

  test(
    'what is torn is refused once, and taken up when it is whole',
    { tags: ['reload:watch'] },
    async () => {
      const whole = LIMITS + edition(4, ADDED);
      expect(await it.answerTo(() => it.write(whole.slice(0, -20)), 'reload_refused')).toMatchObject({
        trigger: 'watch',
      });
      expect(await it.answerTo(() => it.write(whole), 'reloaded')).toMatchObject({ trigger: 'watch' });
      expect(await it.edition()).toBe('4');
    },
  );

  test(
    'what does not hold in the database any more is told, served on, and told to hold again',
    { tags: ['reload:reverify', 'file:runtime.reverify'] },
    async () => {
      await it.answerTo(() => {}, 'reverified');
      const drift = await it.answerTo(() => database.query('alter table counted rename to moved'), 'drift');
      expect(drift).toMatchObject({ faults: 1, capabilities: 'added' });
      expect(await it.edition()).toBe('4');
      await it.answerTo(() => database.query('alter table moved rename to counted'), 'reverified');
      expect(await it.service.call('added', {})).toMatchObject({ json: { rows: [{ id: 1 }] } });
    },
  );

  test('another account has connections of its own', { tags: ['reload:database'] }, async () => {
    const changed = it.head.replace('driver: postgres', 'driver: postgres\n  max_connections: 4');
    const file = join(it.folder, 'capability.yaml');
    const running = it.service.call('slow', {});
    expect(await it.edition()).toBe('4');
    const record = await it.answerTo(() => writeFile(file, changed + LIMITS + edition(5, ADDED)), 'reloaded');
    expect(record).toMatchObject({ database_changed: true, links_replaced: 0 });
    expect((await running).status).toBe(200);
    expect(await it.edition()).toBe('5');
    await expect
      .poll(
        async () =>
          (
            await database.query(
              "select 1 from pg_stat_activity where application_name = 'svc-agent' and datname = current_database()",
            )
          ).length,
        { timeout: 5000, interval: 50 },
      )
      .toBeLessThanOrEqual(4);
  });
});
