/** What a call may leave behind, each looked at before and after. */
type Trace =
  | 'rows'
  | 'catalogue'
  | 'locks'
  | 'session'
  | 'wal'
  | 'large objects'
  | 'files'
  | 'notifications'
  | 'backends';

/**
 * Refused at start with this reason; or accepted, and then each call answers or fails. `leaves` is what no check of
 * the SQL can keep a function from that the database's owner declared to be harmless: the account's rights bound it.
 */
type Outcome =
  | { readonly refused: RegExp }
  | { readonly call: 'answers' | 'fails'; readonly leaves: readonly Trace[] };

export interface Attack {
  readonly kind: string;
  readonly sql: string;
  readonly superuser: Outcome;
  readonly reader: Outcome;
}

/** For a database `attacked`: tables, and functions that say STABLE and do what they like. */
export function attackedSchema(port: number, password: string): string {
  return `
  create extension dblink;
  create extension postgres_fdw;
  create table book (id int primary key, title text not null);
  insert into book values (1, 'One'), (2, 'Two');
  create sequence counter;
  create materialized view shelf as select * from book;
  select lo_from_bytea(4711, 'large');
  create function run(sql text) returns text language plpgsql volatile as
    $$ begin execute sql; return 'ran'; end $$;
  create function quiet(sql text) returns text language plpgsql stable as
    $$ begin return run(sql); end $$;
  create function definer(sql text) returns text language plpgsql stable security definer as
    $$ begin return run(sql); end $$;
  create function replaces() returns text language plpgsql volatile as
    $$ declare name text; begin
      for name in select p.name from pg_prepared_statements p loop
        execute format('deallocate %I; prepare %I as delete from public.book', name, name);
      end loop;
      return 'ran';
    end $$;
  create procedure commits() language plpgsql as $$ begin delete from book; commit; end $$;
  create function quiet_step(state text, sql text) returns text language plpgsql stable as
    $$ begin return run(sql); end $$;
  create aggregate quiet_sum (text) (sfunc = quiet_step, stype = text);
  create operator !!> (rightarg = text, function = quiet);
  create operator !!< (rightarg = text, function = run);
  create type boxed as (sql text);
  create function unbox(boxed) returns int language plpgsql stable as $$ begin perform run($1.sql); return 1; end $$;
  create cast (boxed as int) with function unbox(boxed);
  create function is_fine(sql text) returns bool language plpgsql stable as $$ begin perform run(sql); return true; end $$;
  create domain checked as text check (is_fine(value));
  create view loud as select run('delete from book') as a;
  create view sly as select quiet('delete from book') as a;
  create table guarded (a text);
  insert into guarded values ('x');
  alter table guarded enable row level security;
  create policy p on guarded for select using (run('delete from book') is not null);
  create table guarded_quietly (a text);
  insert into guarded_quietly values ('x');
  alter table guarded_quietly enable row level security;
  create policy p on guarded_quietly for select using (quiet('delete from book') is not null);
  create function own_connection() returns text language sql stable as
    $$ select format('host=127.0.0.1 port=${port} dbname=attacked user=%s password=%s', current_user,
         case current_user when 'reader' then 'reader' else '${password}' end) $$;
  create view far_away as select run('delete from public.book') as a;
  create server loop foreign data wrapper postgres_fdw options (host '127.0.0.1', port '${port}', dbname 'attacked');
  create user mapping for public server loop options (user 'postgres', password '${password}');
  create foreign table far (a text) server loop options (schema_name 'public', table_name 'far_away');
  create role reader login password 'reader';
  revoke temporary on database attacked from public;
  grant select on all tables in schema public to reader;
  `;
}

const refused = (reason: RegExp): Outcome => ({ refused: reason });
const answers: Outcome = { call: 'answers', leaves: [] };
const fails: Outcome = { call: 'fails', leaves: [] };
const leaves = (...traces: readonly Trace[]): Outcome => ({ call: 'answers', leaves: traces });

function each(kind: string, superuser: Outcome, reader: Outcome, sqls: readonly string[]): readonly Attack[] {
  return sqls.map((sql) => ({ kind, sql, superuser, reader }));
}
function both(kind: string, outcome: Outcome, ...sqls: readonly string[]): readonly Attack[] {
  return each(kind, outcome, outcome, sqls);
}
const literal = (text: string): string => `'${text.replaceAll("'", "''")}'`;
function hidden(
  kind: string,
  superuser: Outcome,
  reader: Outcome,
  ...sqls: readonly string[]
): readonly Attack[] {
  return each(
    kind,
    superuser,
    reader,
    sqls.map((sql) => `select quiet(${literal(sql)}) as a`),
  );
}

const oneSelect = refused(/must be one SELECT, VALUES or WITH \.\.\. SELECT/);
const notSql = refused(/cannot be read as SQL|is not valid SQL/);
const never = refused(/more than read and is never allowed: remove it$/);
const volatile = refused(/which is volatile: remove it or name it in policy\.allow_functions$/);

/** `out` is a path that the server may write to; `password` that of the superuser, `version` of the server. */
export function attacks(out: string, port: number, password: string, version: number): readonly Attack[] {
  // Written and rolled back until 16 refuses it.
  const largeObject = version >= 160_000 ? fails : answers;
  const conninfo = (user: string, secret: string): string =>
    `host=127.0.0.1 port=${port} dbname=attacked user=${user} password=${secret}`;
  return [
    ...both(
      'escapes',
      oneSelect,
      'select 1 as a; commit; drop table book',
      '/* select */ commit',
      ';;select 1 as a;; ;drop table book',
      String.raw`select 'a\'; drop table book; --' as a`,
      'select $$a$$ as a; drop table book --$$',
      "select 'x' as a /* /* */ */; drop table book -- */",
      'select 1 as a --\r; drop table book',
      'select ’a’ as a; drop table book',
      'savepoint s',
      'start transaction read write',
      'prepare transaction $$x$$',
      'set session authorization postgres',
      'set session characteristics as transaction read write',
      'reset all',
      'discard all',
      'declare c cursor with hold for select 1',
      'execute p',
    ),
    ...both(
      'escapes',
      notSql,
      'select 1 as a；drop table book',
      String.raw`select E'a\'; drop table book as a`,
      'select 1 as a /* ; drop table book',
    ),
    ...both(
      'writes',
      oneSelect,
      'merge into book b using book c on b.id = c.id when matched then delete',
      'vacuum book',
      'reindex table book',
      'refresh materialized view shelf',
      'comment on table book is $$x$$',
      'grant all on book to public',
      'alter table book add x int',
      'alter system set work_mem = 1',
      'select id as a into unlogged other from book',
      'explain (analyze, format json) delete from book',
    ),
    ...both('locks', oneSelect, 'lock table book in access exclusive mode', 'table book for update'),
    ...both('signals', oneSelect, 'notify attack', 'listen attack', 'checkpoint', "load 'auto_explain'"),
    ...both('files', oneSelect, `copy (select 1) to '${out}'`, `copy book from program 'touch ${out}'`),
    ...both(
      'locks',
      never,
      'select pg_try_advisory_xact_lock_shared(1)::text as a',
      'select "pg_advisory_lock"(1)::text as a',
      String.raw`select U&"pg\005fadvisory\005flock"(1)::text as a`,
      'select PG_CATALOG.Pg_Advisory_Unlock_All()::text as a',
      'select a::text from generate_series(1, 2) g (a) where pg_try_advisory_lock(a)',
    ),
    ...both(
      'signals',
      never,
      'select pg_cancel_backend(pid)::text as a from pg_stat_activity',
      'select case when false then pg_reload_conf()::text end as a',
      "select a::text from pg_notify('attack', 'x') a",
      "select count(*) filter (where pg_logical_emit_message(false, 'a', 'b') is null)::text as a from book",
    ),
    ...both(
      'files',
      never,
      "select a from pg_ls_dir('.') a",
      "select pg_stat_file('PG_VERSION')::text as a",
      "select lo_import('/etc/passwd')::text as a",
      `select lo_export(4711, '${out}')::text as a`,
      'select convert_from(lo_get(4711), $$UTF8$$) as a',
      'select pg_current_logfile() as a',
    ),
    ...both(
      'writes',
      never,
      "select setval('counter', 7)::text as a",
      "select 'x' as a from book order by lo_unlink(4711)",
      "with w as materialized (select lo_put(4711, 0, 'x')) select 'x' as a from w",
      `select dblink_exec('${conninfo('postgres', password)}', 'delete from book') as a`,
    ),
    ...both(
      'hides',
      never,
      "select query_to_xml_and_xmlschema('delete from book', true, true, '')::text as a",
      "select cursor_to_xml('c', 1, true, true, '')::text as a",
      "select word as a from ts_stat('select run(''delete from book'')::tsvector')",
      `select a from dblink('${conninfo('reader', 'reader')}', 'select 1') d (a text)`,
    ),
    ...both(
      'hides',
      volatile,
      "select run('delete from book') as a",
      'select a from loud',
      "select !!< 'delete from book' as a",
      "select a from (values (run('x'))) v (a)",
    ),
    ...each('hides', answers, volatile, ['select a from guarded']),
    ...each('hides', answers, fails, ['select a from guarded_quietly']),
    ...both(
      'hides',
      fails,
      'select a from sly',
      "select !!> 'delete from book' as a",
      "select quiet_sum('delete from book') as a",
      "select row('delete from book')::boxed::int::text as a",
      "select ('delete from ' || title)::checked::text as a from book",
      "select definer('delete from book') as a",
      "select quiet(a) as a from (values ('delete from book')) v (a) order by quiet(a)",
      "select quiet('select quiet(''select quiet(''''delete from book'''')'')') as a",
      "select quiet($$select query_to_xml('delete from book', true, true, '')$$) as a",
      "select quiet('call commits()') as a",
      "select quiet('do $x$ begin delete from book; end $x$') as a",
    ),
    ...both(
      'plans',
      answers,
      "select title as a from book where title = quiet('select pg_advisory_lock(9)')",
    ),
    ...both(
      'plans',
      refused(/writes or locks rows/),
      "select title as a from book where title = quiet('delete from book')",
    ),
    ...hidden(
      'writes',
      fails,
      fails,
      "insert into book values (9, 'x')",
      'truncate book',
      'create table other ()',
      'create temporary table other ()',
      'drop table book cascade',
      'alter role reader superuser',
      'alter database attacked set work_mem = 64',
      'alter system set work_mem = 64',
      "select nextval('counter')",
      'refresh materialized view shelf',
      "copy book from program 'echo 9'",
      'grant all on book to public',
      'vacuum book',
    ),
    ...hidden(
      'escapes',
      fails,
      fails,
      'commit',
      'rollback and chain',
      'set transaction read write',
      'set local transaction_read_only = off',
      "select set_config('transaction_read_only', 'off', false)",
      'discard all',
    ),
    ...hidden(
      'escapes',
      answers,
      answers,
      "select set_config('search_path', 'nowhere', false)",
      "set statement_timeout = 0; set lock_timeout = 0; set svc.api_key_name = 'other'",
      'set session characteristics as transaction read write',
      "set default_transaction_read_only = off; set client_encoding = 'LATIN1'",
      'declare kept cursor with hold for select * from book',
      'deallocate all',
    ),
    ...hidden('escapes', answers, answers, 'set session authorization reader'),
    ...hidden('escapes', answers, fails, 'set role pg_monitor'),
    ...hidden(
      'locks',
      answers,
      answers,
      'select pg_advisory_lock(1), pg_advisory_lock(1), pg_advisory_lock_shared(2, 3)',
      'select pg_try_advisory_lock(4)',
      'select pg_advisory_xact_lock(5)',
      'lock table book in access share mode',
    ),
    ...hidden(
      'locks',
      fails,
      fails,
      'select pg_advisory_lock(6); select 1 / 0',
      'select id from book for update',
    ),
    ...hidden('locks', answers, fails, 'lock table book in access exclusive mode'),
    ...both('locks', fails, "select (quiet('select pg_advisory_lock(7)') || 'x')::int::text as a"),
    ...hidden(
      'signals',
      answers,
      answers,
      'notify attack',
      "select pg_notify('attack', 'x')",
      'listen attack',
    ),
    ...hidden('files', answers, fails, "select pg_read_file('PG_VERSION')", "select pg_ls_dir('.')"),
    ...both(
      'escapes',
      answers,
      `select 'delete from book; :x $1' as a /* ; drop table book */`,
      String.raw`select E'\'; drop table book; --' || U&'\0027; drop table book; --' as a`,
    ),
    ...hidden(
      'writes',
      largeObject,
      largeObject,
      'select lo_create(0)',
      "select lo_from_bytea(0, 'x')",
      'select lo_open(lo_creat(-1), 131072)',
    ),
    ...both(
      'files',
      answers,
      `select xmlparse(document '<!DOCTYPE a [<!ENTITY e SYSTEM "file:///etc/passwd">]><a>&e;</a>')::text as a`,
    ),
    // What remains: not a write to any table, but done when the rollback comes.
    ...hidden('beyond', leaves('wal'), leaves('wal'), "select pg_logical_emit_message(false, 'a', 'b')"),
    ...hidden(
      'beyond',
      leaves('backends'),
      leaves('backends'),
      "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'bystander' and usename = current_user",
    ),
    ...hidden(
      'beyond',
      leaves('files'),
      fails,
      `copy (select 1) to '${out}'`,
      `select lo_export(4711, '${out}')`,
    ),
    ...hidden(
      'beyond',
      leaves('rows', 'wal'),
      fails,
      "select dblink_exec(own_connection(), 'insert into book select max(id) + 1, $$x$$ from book')",
    ),
    ...both('beyond', refused(/reads the foreign table public.far/), 'select a from far'),
    ...hidden('beyond', leaves('session'), leaves('session'), 'prepare kept as select 1'),
  ];
}
