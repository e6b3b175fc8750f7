import { testDatabase, type TestDatabase } from '@svc/testkit';
import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  capabilityOf,
  configOf,
  openPostgres,
  type CapabilityOptions,
  type TestedDatabase,
} from '../capability.fixture.ts';
import { endingsOf } from './both-ways.fixture.ts';
import type { PreparedQuery } from './prepared-query.ts';

let server: TestDatabase;
let database: TestedDatabase;
beforeAll(async () => {
  server = await testDatabase({
    sql: [
      `create table item (id int primary key, bag int not null, text text);
       insert into item select i, i / 20, repeat('x', i % 20) from generate_series(0, 399) i;
       analyze item`,
    ],
  });
  database = openPostgres(configOf(server, { maxConnections: 1 }));
});
afterAll(() => database.close());

async function verifiedOf(sql: string, options: CapabilityOptions): Promise<PreparedQuery> {
  const { prepared, faults } = await database.verify([capabilityOf(sql, options)]);
  const [verified] = prepared;
  if (verified === undefined) throw new Error(JSON.stringify(faults));
  return verified;
}

/** The one ending that each form and each transaction has. */
async function endingOf(
  verified: PreparedQuery,
  values: Readonly<Record<string, unknown>> = {},
): Promise<string> {
  const { own, shared } = await endingsOf(database, verified, values);
  const endings = new Set([...own, ...shared]);
  expect([...endings]).toHaveLength(1);
  expect(shared).toHaveLength(3);
  return own[0] ?? '';
}

const INTEGERS = { params: { n: { type: 'integer' } }, result: { id: 'integer', text: 'string' } } as const;
/** Few rows are expected, however many come. */
const FIRST =
  'select id, text from item where id >= :n and id < :n + 1 + (:n % 20) and id / 20 = :n / 20 order by id';

test.each([1, 2, 10, 11, 12])('with max_rows %i each number of rows is given, and cut', async (maxRows) => {
  const verified = await verifiedOf(FIRST, { ...INTEGERS, limits: { maxRows, maxBytes: 65_536 } });
  expect(verified.own.few === undefined).toBe(maxRows === 1);
  for (const n of [20, 21, 22, 29]) {
    const there = Math.min(1 + (n % 20), 40 - n);
    const ending = await endingOf(verified, { n });
    expect(ending).toMatch(there > maxRows ? `${maxRows} of more [{"id":${n}` : `${there} [{"id":${n}`);
  }
  expect(await endingOf(verified, { n: 400 })).toBe('0 []');
});

test('a row that is one byte longer than its share of max_bytes is given, and none above max_bytes', async () => {
  const sql = "select 1 as id, repeat('y', :n::int) as text";
  const maxBytes = 1000;
  const shareBytes = Math.floor((maxBytes - 1) / 11) - 1;
  const empty = '{"id":1,"text":""}'.length;
  const options = { ...INTEGERS, limits: { maxRows: 100, maxBytes } };
  const verified = await verifiedOf(sql, options);
  for (const bytes of [shareBytes, shareBytes + 1, maxBytes - 2]) {
    const n = bytes - empty;
    expect(await endingOf(verified, { n })).toBe(`1 [{"id":1,"text":"${'y'.repeat(n)}"}]`);
  }
  const beyond = await endingOf(verified, { n: maxBytes - 1 - empty });
  expect(beyond).toContain('one row alone is longer than max_bytes (1000)');
});

test('a null that must not be is an error, and no key need keep rows few', async () => {
  const capability = capabilityOf("select id, nullif(text, 'xxx') as text from item where id = :n", INTEGERS);
  const [first, second] = capability.result;
  if (first === undefined || second === undefined) throw new Error('no result');
  const strict = { ...capability, result: [first, { ...second, nullable: false }] };
  const { prepared } = await database.verify([strict]);
  const [verified] = prepared;
  if (verified === undefined) throw new Error('not verified');
  expect(await endingOf(verified, { n: 4 })).toBe('1 [{"id":4,"text":"xxxx"}]');
  expect(await endingOf(verified, { n: 3 })).toContain('field text is null, and its nullable is false');

  const byId = await verifiedOf('select id, text from item where id = :n', {
    ...INTEGERS,
    limits: { maxRows: 100, maxBytes: 65_536 },
  });
  expect(await endingOf(byId, { n: 5 })).toBe('1 [{"id":5,"text":"xxxxx"}]');
  await server.execute(
    'alter table item drop constraint item_pkey; insert into item select 5, 9, null from generate_series(1, 30)',
  );
  expect(await endingOf(byId, { n: 5 })).toMatch(/^31 \[\{"id":5,"text":"xxxxx"\},\{"id":5,"text":null\}/);
  await server.execute(
    'delete from item where bag = 9 and text is null; alter table item add primary key (id)',
  );
});
