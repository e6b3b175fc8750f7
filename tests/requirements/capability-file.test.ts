import { createPrivateKey, createPublicKey } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { runProcess, testDatabase, type TestDatabase } from '@svc/testkit';
import { startStation, type Station } from './station.testing.ts';

const one = { sql: 'select 1 as one', result: { one: { type: 'integer' } } };

let database: TestDatabase;
let station: Station;
beforeAll(async () => {
  database = await testDatabase();
  station = await startStation(database);
});
afterAll(() => station.stop());

async function sessions(state = 'active'): Promise<number> {
  const [row] = await database.query<{ n: number }>(
    `select count(*)::int as n from pg_stat_activity
     where datname = $1 and application_name = 'svc-agent' and ($2 = 'any' or state = $2)`,
    [database.name, state],
  );
  return row?.n ?? 0;
}

async function endSessions(): Promise<number> {
  const rows = await database.query(
    `select pg_cancel_backend(pid) from pg_stat_activity
     where datname = $1 and application_name = 'svc-agent' and state = 'active'`,
    [database.name],
  );
  return rows.length;
}

describe('service', () => {
  const tags = ['file:service.title', 'file:service.version', 'file:service.description'];

  test('is what the OpenAPI description says of itself', { tags }, async () => {
    const service = { title: 'Library of Babel', version: '2.1.0', description: 'All the books.' };
    await station.withAgent({ service }, async () => {
      expect((await station.get('/openapi.json')).json).toMatchObject({ info: service });
    });
  });
});

describe('${NAME}', { tags: ['file:interpolation'] }, () => {
  test('is replaced in every string, once, and $${ stands for itself', async () => {
    const env = {
      TITLE: 'One ${TITLE}',
      PORT: String(database.port),
      NAME: database.name,
      EMPTY: '',
      ROW: 'row',
    };
    const sections = {
      service: { title: '${TITLE}', version: '${EMPTY}1${EMPTY}.0', description: 'a $${TITLE} b $TITLE' },
      database: { name: '${NAME}', port: '${PORT}' },
      capabilities: {
        replaced: { sql: "select '${ROW}/$${ROW}' as a", result: { a: { type: 'string' } } },
      },
    };
    await station.withAgent(
      sections,
      async () => {
        const info = { title: 'One ${TITLE}', version: '1.0', description: 'a ${TITLE} b $TITLE' };
        expect((await station.get('/openapi.json')).json).toMatchObject({ info });
        const { json } = await station.call('replaced');
        expect(json).toEqual({ rows: [{ a: 'row/${ROW}' }], count: 1 });
      },
      { env },
    );
  });

  test('of a missing variable is a fault that names it and its place', async () => {
    const { code, text } = await station.check({
      database: { password: '${DB_PASSWORD}', host: '${DB_HOST}' },
    });
    expect(code).toBe(2);
    expect(text).toMatch(/:\d+:\d+ {2}database\.host: the environment variable DB_HOST is not set\n/);
    expect(text).toMatch(/:\d+:\d+ {2}database\.password: the environment variable DB_PASSWORD is not set\n/);
  });
});

describe('secrets', () => {
  test(
    'a 64-byte private key is taken when its halves belong together',
    {
      tags: ['file:gateway.agent_private_key'],
    },
    async () => {
      const seed = Buffer.from(station.agentPrivateKey, 'base64url');
      const der = Buffer.concat([Buffer.from('302e020100300506032b657004220420', 'hex'), seed]);
      const { x = '' } = createPublicKey(createPrivateKey({ key: der, format: 'der', type: 'pkcs8' })).export(
        {
          format: 'jwk',
        },
      );
      const both = Buffer.concat([seed, Buffer.from(x, 'base64url')]);
      await station.withAgent({ gateway: { agent_private_key: both.toString('base64url') } }, async () => {
        expect((await station.call('one')).status).toBe(200);
      });
      both[40] = (both[40] ?? 0) ^ 1;
      const { code, text } = await station.check({
        gateway: { agent_private_key: both.toString('base64url') },
      });
      expect(code).toBe(2);
      expect(text).toContain(
        'gateway.agent_private_key: holds a public key that does not belong to its private key',
      );
    },
  );

  test(
    'come from files, with or without a line break at their end',
    {
      tags: ['file:gateway.agent_private_key_file', 'file:database.password_file', 'file:database.password'],
    },
    async () => {
      const password = 'pass word\n with end ';
      await database.execute(`create role ${database.name}_filed login password '${password}'`);
      try {
        for (const end of ['', '\n']) {
          const sections = {
            gateway: { agent_private_key: undefined, agent_private_key_file: 'key' },
            database: { user: `${database.name}_filed`, password: undefined, password_file: 'password' },
          };
          const files = { key: station.agentPrivateKey + end, password: password + end };
          await station.withAgent(
            sections,
            async () => expect((await station.call('one')).status).toBe(200),
            {
              files,
            },
          );
        }
        const inline = { user: `${database.name}_filed`, password };
        expect((await station.check({ database: inline }, { offline: false })).code).toBe(0);
        expect(
          (await station.check({ database: { ...inline, password: `${password}\n` } }, { offline: false }))
            .code,
        ).toBe(2);
      } finally {
        await database.execute(`drop role ${database.name}_filed`);
      }
    },
  );

  test(
    'are refused when they are given twice',
    {
      tags: ['file:gateway.agent_private_key_file', 'file:database.password_file'],
    },
    async () => {
      const { code, text } = await station.check(
        { gateway: { agent_private_key_file: 'a' }, database: { password_file: 'a' } },
        { files: { a: 'x' } },
      );
      expect(code).toBe(2);
      expect(text).toContain('`agent_private_key` and `agent_private_key_file` are both given');
      expect(text).toContain('`password` and `password_file` are both given');
    },
  );
});

describe('gateway.url', { tags: ['file:gateway.url'] }, () => {
  test.each([
    ['wss://gateway.example.com:8443/ws/agent', true],
    ['ws://localhost:8080/ws/agent', true],
    ['ws://[::1]:8080/ws/agent', true],
    ['ws://gateway.example.com/ws/agent', false],
    ['ws://localhost.example.com/ws/agent', false],
    ['https://gateway.example.com/ws/agent', false],
    ['wss://gateway.example.com/', false],
    ['', false],
  ])('%s: %s', async (url, accepted) => {
    const { code, text } = await station.check({ gateway: { url } });
    expect(code).toBe(accepted ? 0 : 2);
    if (!accepted) expect(text).toContain('gateway.url: must ');
  });
});

describe('gateways with several replicas', () => {
  const list = ['wss://one.example.com/ws/agent', 'wss://two.example.com/ws/agent'];

  test.each<[string, object, string | undefined]>([
    ['a list of URLs', { url: list }, undefined],
    ['a number of the replica', { url: 'wss://gw-{replica}.example.com/ws/agent' }, undefined],
    [
      'it elsewhere',
      { url: 'wss://gw.{replica}.example.com/ws/agent' },
      'gateway.url: must have `{replica}` only once',
    ],
    ['an empty list', { url: [] }, 'gateway.url: must be a URL'],
    ['one twice', { url: [list[0], list[0]] }, 'gateway.url: must be a URL'],
    ['a bad one', { url: [list[0], 'https://two.example.com/ws/agent'] }, 'gateway.url.1: must begin with'],
    ['fewer links than gateways', { url: list, max_links: 1 }, 'gateway.max_links: must be at least'],
    ['no links', { max_links: 0 }, 'gateway.max_links: must be >= 1'],
    ['one link', { max_links: 1 }, undefined],
    ['a short interval', { resolve_interval: '1s' }, undefined],
    ['too short a one', { resolve_interval: '999ms' }, 'gateway.resolve_interval: must be between 1s and 1h'],
  ])(
    '%s',
    { tags: ['file:gateway.url', 'file:gateway.max_links', 'file:gateway.resolve_interval'] },
    async (_title, gateway, fault) => {
      const { code, text } = await station.check({
        gateway: { url: 'wss://one.example.com/ws/agent', ...gateway },
      });
      expect(text).toContain(fault ?? '');
      expect(code).toBe(fault === undefined ? 0 : 2);
    },
  );
});

describe('database', () => {
  test(
    'is reached by host, port, name, user and password, and each of them counts',
    {
      tags: [
        'file:database.host',
        'file:database.port',
        'file:database.name',
        'file:database.user',
        'file:database.password',
      ],
    },
    async () => {
      await station.withAgent(
        {
          capabilities: {
            who: {
              sql: 'select current_user::text as u, current_database()::text as d, inet_server_port() as p',
              result: { u: { type: 'string' }, d: { type: 'string' }, p: { type: 'integer' } },
            },
          },
        },
        async () => {
          const { json } = await station.call('who');
          const row = { u: database.user, d: database.name, p: database.port };
          expect(json).toEqual({ rows: [row], count: 1 });
        },
      );
      for (const wrong of [
        { host: 'nowhere.invalid' },
        { port: 1 },
        { name: 'nothing' },
        { user: 'nobody_of_this_name' },
        { password: 'wrong' },
      ]) {
        expect((await station.check({ database: wrong }, { offline: false })).text).toContain(
          'database: cannot use the database',
        );
      }
    },
  );

  test(
    'port is 5432 when absent, driver is postgres when absent and one of those that there are',
    {
      tags: ['file:database.driver', 'file:database.port'],
    },
    async () => {
      for (const driver of ['postgres', undefined]) {
        expect((await station.check({ database: { driver, port: undefined } })).code).toBe(0);
      }
      const { code, text } = await station.check({ database: { driver: 'oracle' } });
      expect(code).toBe(2);
      expect(text).toContain('database.driver: must be one of postgres, mariadb, mysql, sqlite, duckdb');
      const schema: unknown = JSON.parse(
        (await runProcess(join(await station.folder(), 'svc-agent'), ['schema'])).stdout,
      );
      expect(schema).toMatchObject({ properties: { database: { properties: { port: { default: 5432 } } } } });
    },
  );
});

test(
  'transactions are shared or own, with postgres alone',
  { tags: ['file:database.transactions'] },
  async () => {
    for (const transactions of ['own', 'shared', undefined]) {
      expect((await station.check({ database: { transactions } })).code).toBe(0);
    }
    const wrong = await station.check({ database: { transactions: 'none' } });
    expect(wrong).toMatchObject({ code: 2, text: expect.stringContaining('must be one of shared, own') });
    const other = await station.check({ database: { driver: 'mariadb', transactions: 'own' } });
    expect(other.code).toBe(2);
    expect(other.text).toMatch(
      /:\d+:\d+ {2}database\.transactions: unknown key; .*`transactions` is only for postgres: remove it, or set `driver: postgres`$/m,
    );
  },
);

describe('how much at once', () => {
  const sleep = {
    sql: 'select pg_sleep(30)::text as slept',
    policy: { allow_functions: ['pg_sleep'] },
    result: { slept: { type: 'string' } },
  };

  /** Starts `count` calls that sleep until `work` is done, and gives the answers that came before. */
  async function whileSleeping(count: number, work: (early: readonly Promise<unknown>[]) => Promise<void>) {
    const stop = new AbortController();
    const calls = Array.from({ length: count }, () =>
      station.call('sleep', {}, stop.signal).catch(() => undefined),
    );
    try {
      await work(calls);
    } finally {
      stop.abort();
      await Promise.all(calls);
      // What was just about to begin may have missed its cancellation, and would disturb the next test.
      await expect.poll(endSessions, { interval: 50 }).toBe(0);
    }
  }

  test(
    '64 calls run by default',
    {
      tags: ['file:runtime.max_concurrent_requests', 'limit:concurrency'],
    },
    async () => {
      await station.withAgent({ database: { max_connections: 100 }, capabilities: { sleep } }, async () => {
        await whileSleeping(80, async () => {
          await expect.poll(() => sessions(), { interval: 50 }).toBe(64);
          // Nobody comes later, though there are connections for all.
          await expect.poll(() => sessions(), { interval: 100 }).toBe(64);
        });
      });
    },
  );

  test(
    'runtime.max_concurrent_requests run, and runtime.queue_size wait',
    {
      tags: [
        'file:runtime.max_concurrent_requests',
        'file:runtime.queue_size',
        'limit:concurrency',
        'error:AGENT_BUSY',
      ],
    },
    async () => {
      const runtime = { max_concurrent_requests: 2, queue_size: 1 };
      await station.withAgent({ runtime, capabilities: { sleep, one } }, async () => {
        await whileSleeping(3, async () => {
          await expect.poll(() => sessions(), { interval: 20 }).toBe(2);
          const busy = await station.call('one');
          expect(busy.status).toBe(503);
          expect(busy.headers.get('retry-after')).toMatch(/^[1-9]\d*$/);
          expect(busy.json).toEqual({
            error: {
              code: 'AGENT_BUSY',
              message: 'the agent has as many calls as it takes, try again shortly',
            },
          });
        });
        expect((await station.call('one')).status).toBe(200);
      });
    },
  );

  test(
    'a queue of none refuses at once',
    { tags: ['file:runtime.queue_size', 'error:AGENT_BUSY'] },
    async () => {
      const runtime = { max_concurrent_requests: 1, queue_size: 0 };
      await station.withAgent({ runtime, capabilities: { sleep, one } }, async () => {
        await whileSleeping(1, async () => {
          await expect.poll(() => sessions(), { interval: 20 }).toBe(1);
          expect((await station.call('one')).json).toMatchObject({ error: { code: 'AGENT_BUSY' } });
        });
      });
    },
  );

  test('1000 calls wait by default', { tags: ['file:runtime.queue_size', 'error:AGENT_BUSY'] }, async () => {
    await station.withAgent(
      { runtime: { max_concurrent_requests: 1 }, capabilities: { sleep } },
      async () => {
        await whileSleeping(1002, async (calls) => {
          // One runs, 1000 wait, and the one that is too many is the first to be answered.
          expect(await Promise.race(calls)).toMatchObject({
            status: 503,
            json: { error: { code: 'AGENT_BUSY' } },
          });
          const pending = Symbol('pending');
          const states = await Promise.all(
            calls.map((call) => Promise.race([call, new Promise((r) => setTimeout(r, 300, pending))])),
          );
          expect(states.filter((state) => state === pending)).toHaveLength(1001);
        });
      },
    );
  });

  test(
    '10 connections by default, or database.max_connections',
    { tags: ['file:database.max_connections'] },
    async () => {
      for (const [settings, most] of [
        [{}, 10],
        [{ max_connections: 3 }, 3],
      ] as const) {
        await station.withAgent({ database: settings, capabilities: { sleep } }, async () => {
          await whileSleeping(most + 5, async () => {
            await expect.poll(() => sessions(), { interval: 50 }).toBe(most);
            await expect.poll(() => sessions('any'), { interval: 100 }).toBe(most);
          });
        });
      }
    },
  );
});

test(
  'files are found relative to the folder of the capability file',
  {
    tags: ['file:database.password_file'],
  },
  async () => {
    const folder = await station.folder();
    await mkdir(join(folder, 'conf'));
    await writeFile(join(folder, 'conf', 'secret'), database.password);
    const file = station.file({ database: { password: undefined, password_file: './secret' } });
    await writeFile(join(folder, 'conf', 'c.yaml'), file);
    const { code } = await runProcess(join(folder, 'svc-agent'), ['check', '--config', 'conf/c.yaml'], {
      cwd: folder,
    });
    expect(code).toBe(0);
  },
);
