import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startService, testDatabase, type Service, type TestDatabase } from '@svc/testkit';

const SQL = `
  create type mood as enum ('sad', 'glad');
  create table visit (
    id int primary key, code char(4), feels mood, addr inet, day date, noon time, key uuid, price numeric(8, 2)
  );
  insert into visit values (1, 'ab', 'glad', '10.0.0.7', '2024-02-29', '12:30',
    'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', 2.345);
`;

/** Ordinary SQL, written as one would type it into a prepared statement: no cast anywhere. */
const CAPABILITIES = `
capabilities:
  by_mood:
    description: An enum, and an optional filter
    sql: select id from visit where (:mood is null or feels = :mood)
    params:
      mood: { type: string }
    result: { id: { type: integer } }
  moods:
    description: An enum in the result
    sql: select feels from visit
    result: { feels: { type: string } }
  by_moods:
    description: A list of an enum
    sql: select id from visit where feels = any(:moods)
    params:
      moods: { type: array, items: { type: string }, required: true }
    result: { id: { type: integer } }
  by_address:
    description: A network, a time and a UUID
    sql: select id from visit where addr << :net and (:until is null or noon < :until) and key = coalesce(:key, key)
    params:
      net: { type: string, required: true }
      until: { type: string }
      key: { type: string }
    result: { id: { type: integer } }
  by_code:
    description: A char(n)
    sql: select id from visit where code = :code
    params:
      code: { type: string, required: true }
    result: { id: { type: integer } }
  later:
    description: Functions and operators that take int4 only
    sql: select day + :days as day, left(code, :letters) as code, round(price, :digits) as price from visit
    params:
      days: { type: integer, required: true }
      letters: { type: integer, default: 1 }
      digits: { type: integer, required: true, minimum: 0, maximum: 5 }
    result: { day: { type: date }, code: { type: string }, price: { type: number } }
  divide:
    description: Fails by itself
    sql: select 1 / id as quotient from visit where addr << :net and id - :n = 1 and 1 / :n > 0
    params:
      net: { type: string, required: true }
      n: { type: integer, required: true }
    result: { quotient: { type: integer } }
`;

let database: TestDatabase;
let service: Service;
beforeAll(async () => {
  database = await testDatabase({ sql: [SQL] });
  service = await startService({ database, capabilities: CAPABILITIES });
});
afterAll(() => service.stop());

const KEY = 'A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11';

describe(
  'a parameter is bound as the type that the SQL takes',
  { tags: ['capability:sql', 'sql:inferred-types'] },
  () => {
    test.each<[capability: string, params: Record<string, unknown>, rows: readonly unknown[]]>([
      ['by_mood', { mood: 'glad' }, [{ id: 1 }]],
      ['by_mood', { mood: 'sad' }, []],
      ['by_mood', {}, [{ id: 1 }]],
      ['by_moods', { moods: ['sad', 'glad'] }, [{ id: 1 }]],
      ['by_address', { net: '10.0.0.0/8', until: '12:31', key: KEY }, [{ id: 1 }]],
      ['by_address', { net: '10.0.0.0/8', until: '12:30' }, []],
      ['by_address', { net: '192.168.0.0/16' }, []],
      ['by_code', { code: 'ab' }, [{ id: 1 }]],
      ['by_code', { code: 'AB' }, []],
      ['later', { days: 1, letters: 2, digits: 1 }, [{ day: '2024-03-01', code: 'ab', price: 2.4 }]],
      ['later', { days: -60, digits: 0 }, [{ day: '2023-12-31', code: 'a', price: 2 }]],
    ])('%s %j', async (capability, params, rows) => {
      const { json } = await service.call(capability, params);
      expect(json).toEqual({ rows, count: rows.length });
    });
  },
);

describe('what that type does not take', { tags: ['capability:params.type'] }, () => {
  const KINDS = 'must be one of "sad", "glad"';
  test.each<[capability: string, params: Record<string, unknown>, message: string]>([
    ['by_mood', { mood: 'zq7marker' }, `mood: ${KINDS}`],
    ['by_mood', { mood: 1 }, 'mood: must be a string'],
    ['by_moods', { moods: ['glad', 'zq7marker'] }, `moods[1]: ${KINDS}`],
    ['by_address', { net: 'zq7marker' }, 'net: must be a valid inet'],
    [
      'by_address',
      { net: 'zq7marker', until: '24:61', key: 'zq7marker' },
      'net: must be a valid inet; until: must be a valid time without time zone; key: must be a valid uuid',
    ],
    ['later', { days: 2_147_483_648, digits: 1 }, 'days: must be <= 2147483647'],
    ['later', { days: -2_147_483_649, digits: 1 }, 'days: must be >= -2147483648'],
    ['later', { days: 1, digits: 6 }, 'digits: must be <= 5'],
    ['later', { days: '1', digits: 1 }, 'days: must be an integer'],
  ])('%s %j is refused as a parameter', async (capability, params, message) => {
    const { status, json, text } = await service.call(capability, params);
    expect({ status, json }).toEqual({
      status: 400,
      json: { error: { code: 'AGENT_INVALID_PARAMS', message } },
    });
    expect(text).not.toContain('zq7marker');
  });

  test('is in the description that callers read', async () => {
    const document = JSON.stringify((await service.get('/openapi.json')).json);
    const schemaOf = (name: string): unknown =>
      JSON.parse(new RegExp(`"${name}":(\\{[^{}]*(?:\\{[^{}]*\\})?[^{}]*\\})`).exec(document)?.[1] ?? 'null');
    expect(schemaOf('days')).toEqual({ type: 'integer', minimum: -2_147_483_648, maximum: 2_147_483_647 });
    expect(schemaOf('digits')).toEqual({ type: 'integer', minimum: 0, maximum: 5 });
    expect(schemaOf('mood')).toEqual({ type: ['string', 'null'], enum: ['sad', 'glad', null] });
    expect(schemaOf('moods')).toEqual({ type: 'array', items: { type: 'string', enum: ['sad', 'glad'] } });
    expect(schemaOf('net')).toEqual({ type: 'string' });
  });

  test('is not confused with an error of the query itself', async () => {
    const { status, json } = await service.call('divide', { net: '10.0.0.0/8', n: 0 });
    expect(status).toBe(502);
    expect(json).toMatchObject({ error: { code: 'AGENT_QUERY_FAILED' } });
    expect((await service.call('divide', { net: 'zq7marker', n: 0 })).status).toBe(400);
  });
});

describe('an enum that gains a label under a running agent', { tags: ['sql:enum-labels'] }, () => {
  test('shows it in results, refuses it as a parameter, and takes it up with a reload, as it tells', async () => {
    const refused = {
      status: 400,
      json: {
        error: { code: 'AGENT_INVALID_PARAMS', message: 'mood: must be one of "sad", "glad"' },
      },
    };
    expect((await service.call('moods', {})).json).toMatchObject({ rows: [{ feels: 'glad' }] });
    await database.execute("alter type mood add value 'calm' before 'sad'");
    await database.execute("update visit set feels = 'calm'");
    expect((await service.call('moods', {})).json).toMatchObject({ rows: [{ feels: 'calm' }] });

    const told = service.agents[0]?.waitForLine((line) =>
      line.includes('reload or restart the agent to take them up'),
    );
    expect(await service.call('by_mood', { mood: 'calm' })).toMatchObject(refused);
    expect(await told).toBe(
      'svc-agent: by_mood: the database has other labels for mood than when the agent started; reload or restart the agent to take them up',
    );
    expect(await service.call('by_mood', { mood: 'calm' })).toMatchObject(refused);

    service.agents[0]?.signal('SIGHUP');
    await expect
      .poll(async () => (await service.call('by_mood', { mood: 'calm' })).status, { timeout: 30_000 })
      .toBe(200);
  });
});
