import { executeMysql, startFaultProxy, type MysqlAddress } from '@svc/testkit';
import type { ParamSchema } from '../../capabilities/model.ts';
import {
  MISFITS,
  MISPLACED,
  WRITES,
  type Account,
  type Dialect,
  type TestServer,
} from '../conformance/dialect.testing.ts';

const PASSWORD = 'reader-password';
const FUNCTIONS = ['writes', 'slowly', 'shout', 'leave_variable', 'leave_lock', 'leave_zone', 'left_over'];
const LEFT = "concat_ws(' ', @left, @@time_zone, is_used_lock(concat('left', connection_id())) is not null)";

function schemaOf(database: string): readonly string[] {
  return [
    `create database ${database} character set utf8mb4; use ${database};
    create table book (id int primary key, title varchar(100) not null);
    insert into book with recursive n (i) as (select 1 union all select i + 1 from n where i < 50)
      select i, concat('book ', i) from n;
    create table faulty (id int primary key, doc text, name varchar(50), lat varchar(50) character set latin1,
      three varchar(50) character set utf8mb3, fulltext key (doc));
    insert into faulty values (1, '{"a":1}', 'one', 'one', 'one'), (2, '{bad', 'two', 'two', 'two');
    create table listed (id int primary key, half int not null, name varchar(20) not null, tiny tinyint, whole bigint,
      large bigint unsigned, num decimal(65, 20), part double, flag boolean, words varchar(40) collate utf8mb4_bin,
      folded varchar(40) collate utf8mb4_unicode_ci, bytes varbinary(20), latin varchar(20) character set latin1, day date,
      at_time time(6), moment datetime(6), stamp timestamp(3) null, yr year, bits bit(9), longer text);
    insert into listed with recursive n (i) as (select 1 union all select i + 1 from n where i < 120)
      select i, (i + 1) div 2, concat(elt(1 + i % 2, 'n', 'N'), lpad((i + 1) div 2, 3, '0')), elt(1 + i % 4, null, 1, -128, 127),
        elt(1 + i % 3, null, '9223372036854775807', '-9223372036854775808'), elt(1 + i % 3, null, '18446744073709551615', 0),
        elt(1 + i % 4, null, '123456789012345678901234567890.12345678901234567890', '-0.00000000000000000001', 0),
        elt(1 + i % 6, null, 1e308, '-1e308', '0.1', '1e-300', '-0'), elt(1 + i % 3, null, 1, 0),
        elt(1 + i % 6, null, '', 'a', 'B', 'ä', '''; -- '), elt(1 + i % 6, null, 'a', 'A', 'ä', 'ae', 'b '),
        elt(1 + i % 4, null, x'00', x'00ff', x'61'), elt(1 + i % 4, null, 'é', 'E', 'z'),
        elt(1 + i % 4, null, '2024-02-29', '1000-01-01', '9999-12-31'),
        elt(1 + i % 4, null, '-838:59:58.999999', '00:00:00.000001', '100:00:00'),
        elt(1 + i % 3, null, '2024-02-29 12:00:00.000001', '1000-01-01 00:00:00'),
        elt(1 + i % 3, null, '2024-02-29 12:00:00.001', '2000-01-01 00:00:00'), elt(1 + i % 3, null, 1901, 2155),
        nullif(i % 3, 0) * 250, elt(1 + i % 4, null, repeat('long ', 40), repeat('long ', 41), 'short') from n;
    create view sleeping as select sleep(1) as a;
    create view hiding as select a from sleeping;
    create table other (b bit(1), t tinyint(1), y year, f float, d decimal(40, 20), z int(6) zerofill, m enum('sad', 'glad'),
      dt datetime(6), ts timestamp null, da date, bin varbinary(10));
    insert into other values (b'1', 1, 2024, 0.5, 12345678901234567890.123456789, 7, 'glad', '2024-02-29 12:30:00.5',
      '2024-02-29 10:30:00', '2024-02-29', x'00ff')`,
    `create function writes() returns int not deterministic modifies sql data
      begin delete from book; return 1; end`,
    `create function slowly(n int) returns int not deterministic no sql begin do sleep(n / 1000); return 1; end`,
    `create function shout(v text) returns text not deterministic no sql
      begin signal sqlstate '45000' set message_text = v, column_name = v, table_name = v; return v; end`,
    `create function leave_variable(n int) returns int not deterministic no sql begin set @left = n; return n; end`,
    `create function leave_lock(n int) returns int not deterministic no sql
      begin return get_lock(concat('left', connection_id()), 0); end`,
    `create function leave_zone(n int) returns int not deterministic no sql
      begin set session time_zone = '+09:00'; return n; end`,
    `create function left_over() returns text not deterministic no sql begin return ${LEFT}; end`,
  ];
}

let databases = 0;

async function start(address: MysqlAddress): Promise<TestServer> {
  databases += 1;
  const name = `test_${process.pid}_${databases}`;
  const user = `reader_${process.pid}_${databases}`;
  const writer = `writer_${process.pid}_${databases}`;
  for (const sql of schemaOf(name))
    await executeMysql(address, sql, sql.includes('create database') ? undefined : name);
  await executeMysql(
    address,
    `create user '${user}'@'%' identified by '${PASSWORD}'; create user '${writer}'@'%' identified by '${PASSWORD}';
    grant select, show view on ${name}.* to '${user}'@'%'; grant all on ${name}.* to '${writer}'@'%';
    ${FUNCTIONS.map((each) => `grant execute on function ${name}.${each} to '${user}'@'%';`).join('\n')}`,
  );
  let network = await startFaultProxy({ target: address });
  const { host, port } = network;
  const accountOf = (account: string): Account => ({
    section: {
      driver: address.kind,
      host,
      port,
      name,
      user: account,
      sslmode: 'disable',
      caller_variables: true,
    } as Account['section'],
    texts: { password: PASSWORD },
  });
  const processes = (condition: string): Promise<readonly Record<string, unknown>[]> =>
    executeMysql(
      address,
      `select id from information_schema.processlist where db = '${name}' and ${condition}`,
    );
  const count = async (condition: string): Promise<number> => (await processes(condition)).length;

  return {
    reader: accountOf(user),
    writer: accountOf(writer),
    sessions: () => count('true'),
    busySessions: () => count("command <> 'Sleep'"),
    slowSessions: () => count("state = 'User sleep'"),
    endSessions: async () => {
      const ids = (await processes('true')).map(({ id, ID }) => String(id ?? ID));
      for (const id of ids) await executeMysql(address, `kill ${id}`).catch(() => {});
      while (ids.length > 0 && (await count(`id in (${ids.join(', ')})`)) > 0);
    },
    goAway: () => network.close(),
    comeBack: async () => {
      network = await startFaultProxy({ target: address, port });
    },
    stop: async () => {
      await network.close();
      await executeMysql(
        address,
        `drop database ${name}; drop user '${user}'@'%'; drop user '${writer}'@'%'`,
      );
    },
  };
}

/** The expression that gives a parameter back as its type, which the servers do not take from the value. */
function param(name: string, { type }: ParamSchema): string {
  switch (type) {
    case 'integer':
      return `cast(:${name} as decimal(20, 0))`;
    case 'number':
      return `cast(:${name} as decimal(40, 10)) + 0e0`;
    case 'boolean':
      return `(:${name} = 1)`;
    case 'date':
      return `cast(:${name} as date)`;
    case 'datetime':
      return `cast(:${name} as datetime(6))`;
    default:
      return `cast(:${name} as char)`;
  }
}

export function dialectOf(address: MysqlAddress): Dialect {
  const isMysql = address.kind === 'mysql';
  const json = (name: string): string => (isMysql ? `cast(:${name} as json)` : `cast(:${name} as char)`);
  return {
    requiresReadonlyAccount: true,
    grantedFunctions: FUNCTIONS,
    start: () => start(address),
    quoted: (name) => `\`${name.replaceAll('`', '``')}\``,
    hasUnsignedIntegers: true,
    param: (name, schema) =>
      schema.type === 'array' || schema.type === 'object' ? json(name) : param(name, schema),
    slow: (ms) => ({ sql: `select slowly(${ms}) as a`, allowFunctions: ['slowly'] }),
    columns: [
      ['integer', 'cast(7 as signed)', '7'],
      ['integer', '18446744073709551615', '18446744073709551615'],
      ['integer', '(select y from other)', '2024'],
      ['integer', '(select z from other)', '7'],
      ['integer', 'cast(12345678901234567890123 as decimal(30, 0))', '12345678901234567890123'],
      ['number', '0.1e0', '0.1'],
      ['number', '(select d from other)', '12345678901234567890.12345678900000000000'],
      ['number', '(select f from other)', '0.5'],
      ['number', 'nullif(1, 1) + 0e0', 'null'],
      ['string', String.raw`concat('a"b\\c', char(10 using utf8mb4), 'é😀')`, String.raw`"a\"b\\c\né😀"`],
      ['string', '(select m from other)', '"glad"'],
      ['string', '(select bin from other)', String.raw`"\\x00ff"`],
      ['boolean', '1 = 1', 'true'],
      ['boolean', '1 = 2', 'false'],
      ['boolean', '(select b from other)', 'true'],
      ['boolean', 't as a from other #', 'true'],
      ['date', "cast('2024-02-29' as date)", '"2024-02-29"'],
      ['datetime', '(select dt from other)', '"2024-02-29T12:30:00.5+00:00"'],
      ['datetime', '(select ts from other)', '"2024-02-29T10:30:00+00:00"'],
      ['array', `json_array('a', null, 'b c')`, isMysql ? '["a", null, "b c"]' : '["a",null,"b c"]'],
      ['array', `json_object('a', 1)`, 'null'],
      ['object', `json_object('b', 1)`, isMysql ? '{"b": 1}' : '{"b":1}'],
    ],
    misfits: MISFITS,
    writes: [
      ...WRITES,
      "select id as a from book into outfile 'x'",
      'select id from book into @a',
      'select id as a from book for update',
      'select id as a from book lock in share mode',
      'start transaction read write; delete from book',
      'set session transaction read write',
      'set statement max_statement_time = 0 for select 1 as a',
      'select /*!50000 1 as a, */ 2 as b',
      'do sleep(1)',
      'handler book open',
      'lock tables book read',
      'truncate book',
      'drop table book',
      'call p()',
      'explain select 1',
      'select writes() as a',
      'select sleep(0) as a',
      'select sleep/**/(0) as a',
      'select `sleep`(0) as a',
      "select get_lock('a', 0) as a",
      'select benchmark(1, 1) as a',
      "select load_file('/etc/passwd') is null as a",
      'select last_insert_id(7) as a',
      'select nextval(book) as a',
      'select next value for book as a',
      'select @a := 1 as a',
      'select a from sleeping',
      'select a from hiding',
      'select id as a from book procedure analyse()',
    ],
    refusesAllowedWrites: true,
    allowedWrites: [{ sql: 'select writes() as a', allowFunctions: ['writes'] }],
    failures: [{ sql: 'select length(shout(:v)) as a', allowFunctions: ['shout'] }],
    refusals: [
      ['(name regexp :v)', '(zq7', 'o'],
      ["(name rlike concat(:v, ''))", '[zq7', 'o'],
      ['regexp_instr(name, :v)', '(zq7', 'o'],
      ["regexp_replace(name, :v, 'x')", '(zq7', 'o'],
      ["(name like 'a' escape :v)", 'xx', 'x'],
      ['(match(doc) against (:v in boolean mode) > 0)', '+(zq7', 'a'],
      ['(lat = :v)', '😀', 'one'],
      ['(three = :v)', '😀', 'one'],
      ["(three like concat('%', :v, '%'))", '😀', 'ö'],
      ['concat(lat, upper(:v))', '😀', 'one'],
      ["(lat in ('a', :v))", 'я', 'ö'],
      ['instr(three, :v)', '😀', 'o'],
      ["(select a from json_table(:v, '$' columns (a int path '$.a')) j)", '{zq7', '{"a":1}'],
      ...(isMysql
        ? ([
            ['(name regexp :v)', '', 'o'],
            ["regexp_replace(name, 'o', :v)", '$9', 'x'],
            ['json_extract(\'{"a":1}\', :v)', '$[', '$.a'],
            ["json_extract(case id when 1 then doc end, concat('$.', :v))", 'a[', 'a'],
            ['json_type(:v)', '{zq7', '{}'],
            ['json_contains(doc, :v)', '{zq7', '{}'],
            ['json_keys(doc, :v)', '$.*', '$'],
            ["json_contains_path(doc, :v, '$.a')", 'zq7', 'one'],
            ["json_set(doc, '$.b', cast(:v as json))", '{zq7', '{}'],
            ['hex(uuid_to_bin(:v))', 'zq7', 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'],
            ['st_astext(st_geomfromtext(:v))', 'zq7', 'POINT(1 1)'],
          ] as const)
        : []),
    ],
    dataFaults: [
      ["concat((select a from json_table(doc, '$' columns (a int path '$.a')) j), :v)", '{zq7'],
      ['concat(case id when 2 then exp(id * 1000) else 1 end, :v)', '(zq7'],
      ...(isMysql
        ? ([
            ["concat(json_extract(doc, '$.a'), :v)", '{zq7'],
            ['json_extract(doc, :v)', '$.a'],
            ["concat(case id when 2 then 'a' regexp concat(doc, '(') else 1 end, :v)", '(zq7'],
          ] as const)
        : []),
    ],
    // MariaDB 10 takes one that stands by itself for bytes.
    caller: {
      sql: `select ${['api_key_name', 'capability', 'request_id']
        .map((name) => `convert(@svc_${name} using utf8mb4) as ${name}`)
        .join(', ')}`,
    },
    refusedValue: {
      sql: "select cast('a' regexp :v as char) as a",
      schema: { type: 'string' },
      value: '(zq7marker',
    },
    risky: ['select id as a from book limit :n', 'select id as a from book limit 5 offset :n'],
    listForms: [
      ['id in (:v)', { type: 'array', items: { type: 'integer' } }, [2]],
      [
        "title in (select item from json_table(:v, '$[*]' columns (item varchar(100) path '$')) t)",
        { type: 'array', items: { type: 'string' } },
        ['book 2'],
      ],
      ["title = json_unquote(json_extract(:v, '$.key'))", { type: 'object' }, { key: 'book 2' }],
      ['id = :v', { type: 'integer' }, 2],
      ['title = :v', { type: 'string' }, 'book 2'],
      ['cast(title as signed) + id = :v', { type: 'integer' }, 2],
    ],
    misplaced: [
      ...MISPLACED,
      ['id = :v', { type: 'string' }, 'declare it integer'],
      ['book.id < :v', { type: 'string' }, 'declare it integer'],
      ['id in (:v, 1)', { type: 'string' }, 'declare it integer'],
      ['id in (:v)', { type: 'array', items: { type: 'string' } }, 'declare it integer'],
      ['id between :v and 10', { type: 'date' }, 'declare it integer'],
      [':v <= id', { type: 'uuid' }, 'declare it integer'],
      ['if(:v, id, 2) = 2', { type: 'string' }, 'declare it boolean'],
      ['left(title, :v) = title', { type: 'string' }, 'declare it integer'],
      ['id = lower(:v)', { type: 'string' }, 'cast(x as char)'],
      ['lower(title) = :v', { type: 'integer' }, 'cast(x as signed)'],
      ['now() > :v', { type: 'string' }, 'declare it datetime'],
      ['current_date = :v', { type: 'integer' }, 'declare it date'],
      ["cast('10:00' as time) = :v", { type: 'string' }, 'with a pattern'],
      [
        'exists (select 1 from (select id as i from book) x where x.i = :v)',
        { type: 'string' },
        'declare it integer',
      ],
    ],
    lists: {
      columns:
        'tiny whole large num part flag words folded bytes latin day at_time moment stamp yr bits longer'.split(
          ' ',
        ),
      unkept: ['m', 'f'],
      choosesNulls: false,
      changing: ['rand()', 'uuid()', 'sysdate(6)'],
    },
    leftovers: ['leave_variable', 'leave_lock', 'leave_zone'].map((name) => ({
      leave: { sql: `select ${name}(1) as a`, allowFunctions: [name] },
      look: { sql: 'select left_over() as a', allowFunctions: ['left_over'] },
    })),
  };
}
