import { startFaultProxy, testDatabase } from '@svc/testkit';
import type { Account, Dialect, TestServer } from '../conformance/dialect.testing.ts';

/** A pooler between the driver and the server. */
export interface Pooler {
  readonly host: string;
  readonly port: number;
  /** How many connections it has to clients of that database. */
  clients(database: string): Promise<number>;
}

const SCHEMA = `
  create type mood as enum ('sad', 'glad');
  create table book (id int primary key, title text not null);
  insert into book select g, 'book ' || g from generate_series(1, 50) g;
  create table faulty (id int primary key, doc text, name text);
  insert into faulty values (1, '{"a":1}', 'one'), (2, '{bad', 'two');
  create table other (doc jsonb, address inet);
  insert into other values ('{}', '10.0.0.1');
  create collation blind_to_case (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
  create table listed (id int primary key, half int not null, name text not null collate blind_to_case, whole bigint,
    num numeric, part float8, words text, folded text collate blind_to_case, day date, moment timestamptz, feels mood);
  insert into listed select i, (i + 1) / 2, (array['n', 'N'])[1 + i % 2] || lpad(((i + 1) / 2)::text, 3, '0'),
    (array[null, 9223372036854775807, -9223372036854775807])[1 + i % 3], (array[null, 'NaN', '1.10', '-5', '1e30'])[1 + i % 5]::numeric,
    (array[null, 'NaN', '-Infinity', '0.1', '-0'])[1 + i % 5]::float8, (array[null, '', 'a', 'B', 'ä', '''; --'])[1 + i % 6],
    (array[null, 'a', 'A', 'b'])[1 + i % 4], (array[null, '0044-03-15 BC', 'infinity', '2024-02-29'])[1 + i % 4]::date,
    (array[null, '-infinity', '2024-03-31 02:30:00.000001+02'])[1 + i % 3]::timestamptz, (array[null, 'sad', 'glad'])[1 + i % 3]::mood
  from generate_series(1, 120) i;
  create view locked as select id from book for update;
  create view caller as select current_setting('svc.api_key_name') as api_key_name,
    current_setting('svc.capability') as capability, current_setting('svc.request_id') as request_id;
  create function writes() returns int language sql volatile as 'delete from book returning id';
  create function restless() returns int language sql volatile as 'select 1';
  create function execute_text(v text) returns text language plpgsql stable as $$ declare r text; begin
    execute 'select ''' || v || '''::int' into r; return r;
  end $$;
  create function shout(v text) returns text language plpgsql stable as $$ begin
    raise exception 'no %', v using detail = v, hint = v, column = v, constraint = v, datatype = v, table = v;
  end $$;
  create function keep(setting text, value text) returns int language plpgsql stable as $$ begin
    perform set_config(setting, value, false); return 1;
  end $$;
  create function take(n int) returns int language plpgsql stable as $$ begin
    perform pg_advisory_lock(n); return n;
  end $$;
`;
const OURS = "datname = current_database() and application_name = 'svc-agent'";

async function start(pooler: Pooler | undefined): Promise<TestServer> {
  const database = await testDatabase({ sql: [SCHEMA] });
  const target = pooler ?? database;
  const role = `reader_${database.name}`;
  await database.execute(`create role ${role} login password 'reader'; grant select on book, faulty, locked, caller, other, listed to ${role};
    revoke temporary on database ${database.name} from public`);
  let network = await startFaultProxy({ target });
  const { host, port } = network;

  function accountOf(user: string, password: string): Account {
    const section = { driver: 'postgres', host, port, name: database.name, user, sslmode: 'disable' };
    return { section, texts: { password } };
  }
  async function count(condition: string): Promise<number> {
    return (await database.query(`select from pg_stat_activity where ${OURS} and ${condition}`)).length;
  }

  return {
    reader: accountOf(role, 'reader'),
    writer: accountOf(database.user, database.password),
    sessions: () => pooler?.clients(database.name) ?? count('true'),
    busySessions: () => count("state <> 'idle'"),
    slowSessions: () => count("wait_event = 'PgSleep'"),
    endSessions: async () => {
      const ended = await database.query<{ pid: number }>(
        `select pid, pg_terminate_backend(pid) from pg_stat_activity where ${OURS}`,
      );
      const pids = ended.map(({ pid }) => pid);
      while ((await database.query('select from pg_stat_activity where pid = any ($1)', [pids])).length > 0);
    },
    goAway: () => network.close(),
    comeBack: async () => {
      network = await startFaultProxy({ target, port });
    },
    stop: async () => {
      await network.close();
      await database.execute(`drop owned by ${role}; drop role ${role}`);
    },
  };
}

/** What the conformance suite has to know of PostgreSQL, reached directly or through a pooler. */
export function dialectOf(pooler?: () => Pooler): Dialect {
  return { ...DIALECT, start: () => start(pooler?.()) };
}

const DIALECT: Omit<Dialect, 'start'> = {
  requiresReadonlyAccount: false,
  quoted: (name) => `"${name.replaceAll('"', '""')}"`,
  hasUnsignedIntegers: false,
  param: (name) => `:${name}`,
  slow: (ms) => ({ sql: `select 1 as a from pg_sleep(${ms / 1000})`, allowFunctions: ['pg_sleep'] }),
  columns: [
    ['integer', '7::int2', '7'],
    ['integer', '-9223372036854775808', '-9223372036854775808'],
    ['integer', "'NaN'::numeric(5, 0)", 'null'],
    ['number', '0.1::float8', '0.1'],
    ['number', '12345678901234567890.123456789', '12345678901234567890.123456789'],
    ['number', "'NaN'::float8", 'null'],
    ['number', "'-Infinity'::float4", 'null'],
    ['string', "'a\"b\\c' || chr(10) || 'é😀'", String.raw`"a\"b\\c\né😀"`],
    ['string', "'glad'::mood", '"glad"'],
    ['boolean', '1 = 1', 'true'],
    ['boolean', '1 = 2', 'false'],
    ['date', "date '2024-02-29'", '"2024-02-29"'],
    ['date', "'infinity'::date", 'null'],
    ['datetime', "timestamp '2024-02-29 12:30:00.5'", '"2024-02-29T12:30:00.5+00:00"'],
    ['datetime', "timestamptz '2024-02-29 12:30:00+02'", '"2024-02-29T10:30:00+00:00"'],
    ['datetime', "'-infinity'::timestamptz", 'null'],
    ['array', "array['a', null, 'b c']", '["a",null,"b c"]'],
    ['array', "array[1, 'NaN', '-Infinity']::float8[]", '[1,null,null]'],
    ['object', '\'{"b":1}\'::jsonb', '{"b": 1}'],
    ['object', '(select b from book b where id = 2)', '{"id":2,"title":"book 2"}'],
  ],
  misfits: [
    ['integer', 'title'],
    ['integer', '1.5'],
    ['number', 'title'],
    ['boolean', 'id'],
    ['date', 'now()'],
    ['datetime', 'id'],
    ['array', 'id'],
    ['object', 'array[1]'],
  ],
  writes: [
    'insert into book values (51)',
    'delete from book',
    'with x as (delete from book returning id) select id as a from x',
    'select id as a into other from book',
    'select id as a from book for update',
    'select id as a from locked',
    'select 1 as a; delete from book',
    'select 1 as a) q; delete from book; --',
    'commit; delete from book',
    'begin; delete from book',
    'set transaction read write; delete from book',
    'do $$ begin delete from book; end $$',
    "copy book to program 'true'",
    'explain analyze delete from book',
    'create table other (id int)',
    'truncate book',
    'lock table book',
    'select writes() as a',
    'select restless() as a',
    'select 1 as a from pg_sleep(0)',
    "select 1 as a from query_to_xml('delete from book', true, true, '')",
    'select nextval(1) as a',
    'select pg_advisory_lock(1) is null as a',
    "select set_config('transaction_read_only', 'off', true) is null as a",
  ],
  allowedWrites: [{ sql: 'select writes() as a', allowFunctions: ['writes'] }],
  failures: [
    { sql: "select (:v || '')::int as a" },
    { sql: "select ((:v || '')::json->>0)::int as a" },
    { sql: 'select length(shout(:v)) as a' },
    { sql: 'select length(execute_text(:v)) as a' },
  ],
  refusals: [
    ["(to_tsvector('simple', name) @@ to_tsquery(:v))::text", 'zq7 fox', 'one'],
    ["to_tsquery('simple', :v)::text", 'zq7 &', 'one'],
    ['(name ~ :v)::text', '(zq7', 'o'],
    ["(name !~* (:v || ''))::text", '[zq7', 'o'],
    ['(name similar to :v)::text', '(zq7', 'o%'],
    ["regexp_replace(name, :v, 'x')", '(zq7', 'o'],
    ["(regexp_match(name, 'o', :v))::text", 'zq7', 'i'],
    ["(name like 'a' escape :v)::text", 'xx', 'x'],
    ["(name like :v escape '#')::text", 'on#', 'one'],
    ["jsonb_path_exists('{}'::jsonb, :v::jsonpath)::text", '$[', '$.a'],
    [':v::inet::text', 'zq7', '::1'],
    ['make_interval(secs => (:v)::float8)::text', 'zq7', '1'],
    ["encode('a'::bytea, :v)", 'zq7', 'hex'],
    ["decode(:v, 'hex')::text", 'zq7', '00'],
    ["date_trunc(:v, timestamptz '2024-01-01')::text", 'zq7', 'day'],
    ["split_part(name, 'n', (:v)::int)", '0', '1'],
    ['substring(name, 1, (:v)::int)', '-1', '1'],
    ["to_date(:v, 'YYYY')::text", 'zq7', '2024'],
    ['(:v)::int4range::text', '[5,1]', '[1,5]'],
    ['int4range(7, (:v)::int)::text', '1', '9'],
    ['format(:v, name)', '%q', '%s'],
  ],
  dataFaults: [
    ["(doc::json ->> 'a') || :v", '{zq7'],
    ["case id when 2 then (name ~ (doc || '('))::text else 'x' end || to_tsquery(:v)::text", 'one'],
    ['(1 / (2 - id) + (:v)::int)::text', '0'],
    ["to_tsquery(case id when 2 then doc || ' (' else 'a' end)::text || :v", 'brown fox'],
  ],
  refusedValue: { sql: 'select :v::mood as a', schema: { type: 'string' }, value: 'zq7marker' },
  risky: ['select id as a from book limit :n', 'select id as a from book offset :n'],
  listForms: [
    ['id in (:v)', { type: 'array', items: { type: 'integer' } }, [2]],
    ['id = any(:v)', { type: 'array', items: { type: 'integer' } }, [2]],
    ["title = :v ->> 'key'", { type: 'object' }, { key: 'book 2' }],
  ],
  misplaced: [
    ['id = :v', { type: 'string' }, 'declare it '],
    ['title = :v', { type: 'integer' }, 'declare it '],
    ['title = :v', { type: 'boolean' }, 'declare it '],
    ['id = :v', { type: 'date' }, 'declare it '],
  ],
  lists: {
    columns: ['whole', 'num', 'part', 'words', 'folded', 'day', 'moment', 'feels'],
    unkept: ['doc', 'address'],
    choosesNulls: true,
    changing: ['random()', 'gen_random_uuid()'],
  },
  leftovers: [
    {
      leave: { sql: "select keep('svc_test.left', 'x') as a" },
      look: { sql: "select coalesce(current_setting('svc_test.left', true), '') as a" },
    },
    {
      leave: { sql: "select keep('timezone', 'Asia/Tokyo') as a" },
      look: { sql: "select current_setting('timezone') as a" },
    },
    {
      leave: { sql: 'select take(7) as a' },
      look: {
        sql: `select count(*)::text as a from pg_locks where locktype = 'advisory' and pid = pg_backend_pid()`,
        allowFunctions: ['pg_lock_status'],
      },
    },
  ],
  caller: { sql: 'select api_key_name, capability, request_id from caller' },
};
