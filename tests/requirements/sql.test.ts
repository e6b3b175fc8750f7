import {
  startFaultProxy,
  startService,
  testDatabase,
  type FaultProxy,
  type Service,
  type TestDatabase,
} from '@svc/testkit';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  createReader,
  prepareChecks,
  type Account,
  type Checked,
  type Checks,
} from './checked-sql.testing.ts';

const SCHEMA = `
  create table book (id int primary key, title text not null);
  insert into book values (1, 'One'), (2, 'Two');
  create view locked as select id from book for update;
  create view restless_view as select clock_timestamp()::text as at, pg_sleep(0)::text as slept;
  create function restless() returns int language sql volatile as 'select 1';
  create operator ~~~~ (leftarg = int, rightarg = int, function = int4pl);
  create function writes() returns int language plpgsql volatile as
    $$ begin insert into book values (9, 'Nine'); return 1; end $$;
  create function unlocks() returns int language plpgsql volatile as
    $$ begin set transaction read write; insert into book values (9, 'Nine'); return 1; end $$;
  create function leaves() returns text language plpgsql volatile as
    $$ begin perform set_config('svc.left', 'behind', false); return current_setting('svc.left'); end $$;
`;

let database: TestDatabase;
let reader: string;
let account: Account;
let checks: Checks;
beforeAll(async () => {
  database = await testDatabase({ sql: [SCHEMA] });
  account = await createReader(database);
  checks = await prepareChecks(database);
  reader = account.name;
});
afterAll(() => Promise.all([account.drop(), checks.remove()]));

const asInteger = { a: { type: 'integer' } };

test(
  'SQL that nests too deep is a fault of its capability, and hides no other',
  { tags: ['sql:depth'] },
  async () => {
    const nested = (count: number): string =>
      `${'select * from ('.repeat(count)}select 1 as a${') q'.repeat(count)}`;
    const tooDeep = {
      subselects: nested(800),
      more_subselects: nested(5000),
      parentheses: `select ${'('.repeat(20_000)}1${')'.repeat(20_000)} as a`,
      operators: `select ${'1 + '.repeat(50_000)}1 as a`,
    };
    const sound = {
      chain: `select id as a from book where ${'id = 1 or '.repeat(4999)}id = 2`,
      some_subselects: nested(50),
    };
    const all = { first: 'selec 1', ...tooDeep, ...sound, last: 'select 1 as b' };
    const capabilities = Object.entries(all).map(([name, sql]) => [name, { sql, result: asInteger }]);
    const { code, output } = await checks.check(Object.fromEntries(capabilities));
    expect(code).toBe(2);
    expect(output).not.toContain('internal error');
    const faults = [...output.matchAll(/ capabilities\.(\S+) (.{20})/g)].map(([, at, message]) => [
      at,
      message,
    ]);
    expect(faults).toEqual([
      ['first.sql:', expect.any(String)],
      ...Object.keys(tooDeep).map((name) => [`${name}.sql:`, 'nests too deep to be']),
      ['last.result.a:', expect.any(String)],
    ]);
  },
);

describe('SQL that is refused at start', () => {
  interface Refused {
    readonly row: string;
    readonly sql: string;
    readonly because: RegExp;
    readonly params?: Readonly<Record<string, unknown>>;
    readonly policy?: Readonly<Record<string, unknown>>;
  }
  const refuse = (row: string, because: RegExp, ...statements: readonly string[]): readonly Refused[] =>
    statements.map((sql) => ({ row, sql, because }));

  const oneSelect = /sql: must be one SELECT, VALUES or WITH \.\.\. SELECT/;
  const writing =
    /sql: must be one SELECT, VALUES or WITH \.\.\. SELECT: it contains a statement that does not only read$/;
  const locking = /SELECT: remove FOR UPDATE or FOR SHARE, which lock rows$/;
  const never = /, which does more than read and is never allowed: remove it$/;
  const volatile = /which is volatile: remove it or name it in policy\.allow_functions$/;
  const REFUSED: readonly Refused[] = [
    ...refuse(
      'sql:one-select',
      oneSelect,
      'select 1 as a; select 2 as a',
      'select 1 as a; drop table book',
      'commit; drop table book',
      "insert into book values (8, 'x')",
      'update book set title = null',
      'delete from book',
      'truncate book',
      'create table other (id int)',
      'set role postgres',
      'explain analyze select 1 as a',
      'copy book to stdout',
      "copy book to program 'true'",
      'do $$ begin delete from book; end $$',
      'call writes()',
      'prepare p as select 1',
      'lock table book',
      'begin read write',
    ),
    ...refuse(
      'sql:one-select',
      /sql: cannot be read|sql: is not valid SQL/,
      'select 1 as a) q; drop table book; --',
      'selec 1',
    ),
    ...refuse(
      'sql:no-writing',
      writing,
      'with gone as (delete from book returning id) select id as a from gone',
      "with more as (insert into book values (8, 'x') returning id) select id as a from more",
      'with other as (update book set id = id returning id) select id as a from other',
      'with x as (with y as (delete from book returning id) table y) select id as a from x',
    ),
    ...refuse('sql:no-writing', /SELECT: remove INTO$/, 'select id as a into other from book'),
    ...refuse(
      'sql:no-writing',
      locking,
      'select id as a from book for update',
      'select id as a from book for no key update',
      'select id as a from book for share',
      'select id as a from (select id from book for key share) b',
      'select (select id from book limit 1 for update) as a',
    ),
    ...refuse('sql:no-writing', /sql: uses \$1: write parameters as :name$/, 'select $1::int as a'),
    ...refuse(
      'sql:declared',
      /sql: uses :nope, which is not declared: add it to params$/,
      'select :nope::int as a',
    ),
    {
      row: 'sql:declared',
      sql: "select 1 as a where ':n' <> '' -- :n",
      params: { n: { type: 'integer' } },
      because: /params\.n: is not used: .* quoted text .* write '%' \|\| :n \|\| '%' for '%:n%'$/,
    },
    ...refuse(
      'sql:plan',
      /sql: .*writes or locks rows/,
      'select id as a from locked',
      'with l as (select * from locked) select max(id) as a from l',
    ),
    ...refuse(
      'sql:volatile',
      volatile,
      'select restless() as a',
      'select 1 as a where public.restless() = 1',
      'select length(pg_sleep(0)::text) as a',
      'select length(slept) as a from restless_view',
      'select id as a from book order by restless()',
      'select a from book join lateral (select restless() as a offset 0) r on true',
    ),
    ...[
      "nextval('s')",
      "length(set_config('svc.api_key_name', 'other', false))",
      "length(pg_notify('a', 'b')::text)",
      "length(query_to_xml('delete from book', true, true, '')::text)",
      "length(pg_read_file('/etc/passwd'))",
      'lo_create(0)::int',
      'length(pg_advisory_lock(1)::text)',
      'length(pg_terminate_backend(1)::text)',
      "length(pg_logical_emit_message(false, 'a', 'b')::text)",
    ].map((call) => ({
      row: 'sql:volatile',
      sql: `select ${call} as a`,
      // Nor does naming it help.
      policy: { allow_functions: [/(\w+)\(/.exec(call.replace(/^length\(/, ''))?.[1]] },
      because: never,
    })),
  ];
  /** Looks like the above and is fine. */
  const TAKEN: readonly { readonly sql: string; readonly params?: unknown; readonly policy?: unknown }[] = [
    { sql: 'select id as a from book;  -- done; delete from book' },
    { sql: '(select 1 as a)' },
    { sql: 'with t as (select id as a from book) table t' },
    { sql: 'with recursive t (a) as (values (1) union all select a + 1 from t where a < 3) select a from t' },
    { sql: 'select a from (values (1), (2)) v (a)' },
    { sql: "select 1 as a where 'delete from book; :x $1' <> '' /* for update :y */" },
    { sql: 'select (random() * 0)::int as a where now() > $$2000-01-01$$ and gen_random_uuid() is not null' },
    { sql: 'select restless() as a', policy: { allow_functions: ['restless'] } },
    { sql: 'select :n::int as a where :n > 0', params: { n: { type: 'integer' } } },
    { sql: 'select 1 ~~~~ 2 as a' },
  ];

  let checked: Checked;
  let before: string;
  const state = async (): Promise<string> =>
    JSON.stringify([
      await database.query('select * from book'),
      await database.query('select relname from pg_class order by 1'),
    ]);
  beforeAll(async () => {
    before = await state();
    const entries = [...REFUSED, ...TAKEN].map((one, index) => {
      const { params = {}, policy = {} } = one;
      return [`c_${index}`, { sql: one.sql, params, policy, result: asInteger }] as const;
    });
    checked = await checks.check(Object.fromEntries(entries));
  });
  const faultsOf = (index: number): readonly string[] =>
    checked.output.split('\n').filter((line) => line.includes(`capabilities.c_${index}.`));

  for (const [index, { row, sql, because }] of REFUSED.entries()) {
    test(`refused: ${sql}`, { tags: [row] }, () => {
      expect(faultsOf(index)).toEqual([expect.stringMatching(because)]);
    });
  }

  for (const [index, { sql }] of TAKEN.entries()) {
    test(
      `not refused: ${sql}`,
      { tags: ['sql:one-select', 'sql:no-writing', 'sql:declared', 'sql:volatile'] },
      () => {
        expect(faultsOf(REFUSED.length + index)).toEqual([]);
      },
    );
  }

  test('nothing of it ran, and the report holds no SQL', { tags: ['sql:read-only'] }, async () => {
    expect(checked.code).toBe(2);
    expect(await state()).toBe(before);
    expect(checked.output).not.toMatch(/select .* as a|restless|title|delete from/);
  });
});

describe('a call', () => {
  const RLS = `
    create table note (owner text, body text);
    insert into note values ('alice', 'of alice'), ('bob', 'of bob'), ('bob', 'also of bob');
    alter table note enable row level security;
    create policy own_notes on note for select
      using (owner = current_setting('svc.api_key_name', true));
  `;
  const capabilities = {
    notes: { sql: 'select body from note order by body', result: { body: { type: 'string' } } },
    told: {
      sql: `select current_setting('svc.api_key_name', true) as key, current_setting('svc.capability', true) as capability,
        current_setting('svc.request_id', true) as request, current_setting('transaction_read_only') as read_only`,
      result: Object.fromEntries(
        ['key', 'capability', 'request', 'read_only'].map((name) => [name, { type: 'string' }]),
      ),
    },
    ...Object.fromEntries(
      ['writes', 'unlocks', 'leaves'].map((name) => [
        name,
        {
          sql: `select ${name}()::text as done, pg_backend_pid() as pid`,
          policy: { allow_functions: [name] },
          result: { done: { type: 'string' }, pid: { type: 'integer' } },
        },
      ]),
    ),
    left: {
      sql: "select coalesce(current_setting('svc.left', true), '') as left, pg_backend_pid() as pid",
      result: { left: { type: 'string' }, pid: { type: 'integer' } },
    },
    same: {
      sql: `with recursive n (i) as (values (1) union all select i + 1 from n where i < :to),
          s as materialized (select i, sum(i) over (order by i) as total, i % 2 = 0 as even from n)
        select max(i) as top, max(total)::bigint as total, bool_or(even) as even, array_agg(i order by i desc) filter (where i > 2) as tail,
          jsonb_object_agg(i, even) as by_number, date '2024-01-31' + make_interval(months => 1) as later, string_agg(i::text, '-' order by i) as joined
        from s`,
      params: { to: { type: 'integer', required: true } },
      result: {
        top: { type: 'integer' },
        total: { type: 'integer' },
        even: { type: 'boolean' },
        tail: { type: 'array' },
        by_number: { type: 'object' },
        later: { type: 'datetime' },
        joined: { type: 'string' },
      },
    },
  };

  let proxy: FaultProxy;
  let service: Service;
  beforeAll(async () => {
    await database.execute(`${RLS} grant select on note to ${reader};`);
    proxy = await startFaultProxy({ target: database });
    service = await startService({
      database: { ...database, host: proxy.host, port: proxy.port, user: reader, password: 'reader' },
      capabilities: `capabilities: ${JSON.stringify(capabilities)}`,
      keys: { alice: '*', bob: '*' },
    });
  });
  afterAll(async () => {
    await service.stop();
    await proxy.close();
  });

  test(
    'sees the rows that row-level security gives to the name of its key',
    { tags: ['sql:settings'] },
    async () => {
      const notes = async (key: string): Promise<unknown> => (await service.call('notes', {}, { key })).json;
      expect(await notes('alice')).toEqual({ rows: [{ body: 'of alice' }], count: 1 });
      expect(await notes('bob')).toEqual({ rows: [{ body: 'also of bob' }, { body: 'of bob' }], count: 2 });
      expect(await notes('all')).toEqual({ rows: [], count: 0 });
    },
  );

  test(
    'is known to the database by key, capability and request',
    { tags: ['sql:settings', 'sql:read-only'] },
    async () => {
      const headers = { 'x-request-id': 'request-of-mine' };
      const { json } = await service.call('told', {}, { key: 'bob', headers });
      expect(json).toMatchObject({
        rows: [{ key: 'bob', capability: 'told', request: 'request-of-mine', read_only: 'on' }],
      });
    },
  );

  test.each(['writes', 'unlocks'])(
    'cannot write by a function that %s',
    { tags: ['sql:read-only'] },
    async (name) => {
      await database.execute(`grant all on book to ${reader}`);
      expect((await service.call(name, {})).json).toMatchObject({ error: { code: 'AGENT_QUERY_FAILED' } });
      expect(await database.query('select id from book where id = 9')).toEqual([]);
      await database.execute(`revoke all on book from ${reader}; grant select on book to ${reader}`);
    },
  );

  test('leaves nothing behind on its connection', { tags: ['sql:read-only'] }, async () => {
    const first = await service.call('leaves', {});
    const pid = /"pid":(\d+)/.exec(first.text)?.[1];
    expect(first.text).toBe(`{"rows":[{"done":"behind","pid":${pid}}],"count":1}`);
    expect((await service.call('left', {})).text).toBe(`{"rows":[{"left":"","pid":${pid}}],"count":1}`);
  });

  test('costs one round trip, the first time too', { tags: ['sql:one-round-trip'] }, async () => {
    const oneWayMs = 500;
    // The key is known from here on.
    await service.get('/openapi.json');
    proxy.delay(oneWayMs);
    for (const [name, params] of [
      ['same', { to: 3 }],
      ['same', { to: 4 }],
      ['told', {}],
    ] as const) {
      const started = performance.now();
      expect((await service.call(name, params)).status).toBe(200);
      const took = performance.now() - started;
      expect(took).toBeGreaterThanOrEqual(2 * oneWayMs);
      expect(took).toBeLessThan(4 * oneWayMs);
    }
    proxy.delay(0);
  });

  test('answers alike whatever the version of the server', { tags: ['sql:versions'] }, async () => {
    const version = await database.version();
    expect(version).toBeGreaterThanOrEqual(130_000);
    const wanted = process.env['SVC_TEST_POSTGRES'];
    if (wanted !== undefined) expect(Math.floor(version / 10_000)).toBe(Number(wanted));
    expect((await service.call('same', { to: 4 })).text).toBe(
      '{"rows":[{"top":4,"total":10,"even":true,"tail":[4,3],"by_number":{"1": false, "2": true, "3": false, "4": true},' +
        '"later":"2024-02-29T00:00:00+00:00","joined":"1-2-3-4"}],"count":1}',
    );
    expect((await service.call('same', { to: '4' })).status).toBe(400);
  });
});
