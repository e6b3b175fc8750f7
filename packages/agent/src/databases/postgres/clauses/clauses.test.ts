import { testDatabase, type TestDatabase } from '@svc/testkit';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { CapabilitySpec } from '../../../config/capability-file.ts';
import { configOf, openPostgres, queryOf, type TestedDatabase } from '../capability.fixture.ts';
import { ask, capabilityOfSpec, walk } from '../../conformance/clauses/lists.testing.ts';

const SCHEMA = `
  create table invoice (
    id int primary key, customer_id int not null, status text, issued_on date, total numeric(10, 2), paid_at timestamptz
  );
  insert into invoice select i, i % 7, case when i % 5 > 0 then 'status ' || i % 3 end, date '2024-01-01' + i % 90,
    i % 11, case when i % 2 = 0 then timestamptz '2024-03-01 00:00Z' + i * interval '1 hour' end
  from generate_series(1, 500) i;
  create index on invoice (issued_on, id);
  analyze invoice;
`;

const LIST: CapabilitySpec = {
  sql: 'select id, status, issued_on, total from invoice where {filters}',
  params: {
    customer: { type: 'integer', filter: 'customer_id = :customer' },
    from: { type: 'date', filter: 'issued_on >= :from' },
    unpaid: { type: 'boolean', filter: '(paid_at is null) = :unpaid' },
  },
  sort: { newest: 'issued_on desc', largest: 'total desc', by_status: 'status' },
  paging: 'id',
  result: {
    id: { type: 'integer', nullable: false },
    status: { type: 'string' },
    issued_on: { type: 'date' },
    total: { type: 'number' },
  },
  policy: { max_rows: 20 },
};

let server: TestDatabase;
let database: TestedDatabase;
beforeAll(async () => {
  server = await testDatabase({ sql: [SCHEMA] });
  database = openPostgres(configOf(server));
});
afterAll(() => database.close());

test('a filter is in the statement only when its parameter has a value', async () => {
  const capability = capabilityOfSpec({ ...LIST, policy: { max_rows: 1000 } });
  const query = await queryOf(database, capability);
  const ids = async (given: Readonly<Record<string, unknown>>): Promise<readonly unknown[]> =>
    (await ask(query, capability, given)).list.map(({ id }) => id).toSorted((a, b) => Number(a) - Number(b));
  const expected = async (condition: string): Promise<readonly unknown[]> =>
    (await server.query<{ id: number }>(`select id from invoice where ${condition} order by id`)).map(
      ({ id }) => id,
    );
  for (const customer of [undefined, 3])
    for (const from of [undefined, '2024-02-01'])
      for (const unpaid of [undefined, false, true]) {
        const conditions = [
          customer === undefined ? 'true' : `customer_id = ${customer}`,
          from === undefined ? 'true' : `issued_on >= '${from}'`,
          unpaid === undefined ? 'true' : `(paid_at is null) = ${unpaid}`,
        ].join(' and ');
        expect(await ids({ customer, from, unpaid })).toEqual(await expected(conditions));
      }
});

test.each(['newest', 'largest', 'by_status'])('pages by %s are the whole list', async (sort) => {
  const capability = capabilityOfSpec(LIST);
  const query = await queryOf(database, capability);
  const order = {
    newest: 'issued_on desc, id desc',
    largest: 'total desc, id desc',
    by_status: 'status, id',
  }[sort];
  const rows = await server.query<{ id: number }>(`select id from invoice order by ${order}`);
  const walked = await walk(query, capability, { sort });
  expect(walked.map(({ id }) => id)).toEqual(rows.map(({ id }) => id));
});
