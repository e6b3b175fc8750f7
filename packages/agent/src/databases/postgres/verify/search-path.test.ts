import { testDatabase, type TestDatabase } from '@svc/testkit';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { ResultType } from '../../../capabilities/model.ts';
import {
  type TestedDatabase,
  callOf,
  capabilityOf,
  configOf,
  queryOf,
  textOfRows,
  openPostgres,
} from '../capability.fixture.ts';

/**
 * A schema in front of pg_catalog that anybody may have filled: every operator and many functions of PostgreSQL's own,
 * operators for pairs of types that PostgreSQL has none for, and types by common names. Whatever runs there fails.
 */
const HOSTILE = `
  create schema hostile;
  create schema data;
  create type data.mood as enum ('sad', 'glad');
  create table data.thing (id int, price numeric(5, 0), ratio float8, day date, at timestamptz, doc jsonb, plain json, feels data.mood);
  insert into data.thing values (1, 2, 0.5, '2024-02-29', '2024-02-29 12:00Z', '{"a": 1}', E'{"b":\\n2}', 'glad');
  do $do$ declare
    o record;
    scalars text[] := array['oid', 'int2', 'int4', 'int8', 'numeric', 'float8', 'text', 'name', '"char"'];
    l text; r text; op text;
  begin
    for op, l, r in select distinct oprname, oprleft::regtype::text, oprright::regtype::text from pg_operator
        where oprname in ('=', '<>', '<', '>', '<=', '>=', '+', '-', '%', '||', '~', '!~') and oprleft <> 0
          and oprnamespace = 'pg_catalog'::regnamespace
          and not exists (select from pg_type t where t.oid in (oprleft, oprright) and t.typtype = 'p')
      union select x.op, a.l::regtype::text, b.r::regtype::text from unnest(array['=', '<>', '<', '>', '<=', '>=', '+', '-', '%']) x (op),
        unnest(scalars) a (l), unnest(scalars) b (r) loop
      execute format('create or replace function hostile.trap(%s, %s) returns bool language plpgsql stable as $f$ begin raise exception %L; end $f$', l, r, 'trapped');
      execute format('create operator hostile.%s (leftarg = %s, rightarg = %s, function = hostile.trap)', op, l, r);
    end loop;
    for o in select proname, pg_get_function_identity_arguments(oid) as args from pg_proc
        where pronamespace = 'pg_catalog'::regnamespace and prokind = 'f' and provariadic = 0 and not proretset
          and pg_get_function_identity_arguments(oid) !~ 'OUT |any|cstring|internal|record'
          and proname in ('format', 'lower', 'quote_ident', 'btrim', 'timezone', 'translate', 'chr', 'octet_length', 'trunc',
            'set_config', 'current_setting', 'format_type', 'regexp_replace', 'acldefault', 'current_database', 'concat',
            'pg_function_is_visible', 'to_regtype', 'json_typeof', 'jsonb_typeof', 'convert_to', 'text') loop
      execute format('create function hostile.%I(%s) returns text language plpgsql stable as $f$ begin raise exception %L; end $f$',
        o.proname, o.args, 'trapped');
    end loop;
    foreach l in array array['text', 'date', 'timestamptz', 'uuid', 'jsonb', 'numeric', 'int8', 'int4', 'bool', 'oid', 'name', 'regclass'] loop
      execute format('create type hostile.%I as enum (%L)', l, 'trapped');
    end loop;
  end $do$;
`;

let server: TestDatabase;
let database: TestedDatabase;
let reader: string;
beforeAll(async () => {
  server = await testDatabase({ sql: [HOSTILE] });
  reader = `${server.name}_reader`;
  await server.execute(`
    create role ${reader} login password 'reader';
    alter role ${reader} in database ${server.name} set search_path = hostile, pg_catalog;
    revoke temporary on database ${server.name} from public;
    grant usage on schema hostile, data to ${reader};
    grant select on data.thing to ${reader};
  `);
  database = openPostgres(configOf({ ...server, user: reader, password: 'reader' }));
});
afterAll(async () => {
  await database.close();
  await server.execute(`drop owned by ${reader}; drop role ${reader}`);
});

test('the audit of the account is PostgreSQL own work', async () => {
  expect(await database.auditAccount([])).toEqual([]);
});

test('so is every call', async () => {
  const result: Readonly<Record<string, ResultType>> = {
    id: 'integer',
    price: 'integer',
    ratio: 'number',
    day: 'date',
    at: 'datetime',
    doc: 'object',
    plain: 'object',
    feels: 'string',
    s: 'string',
    u: 'string',
    j: 'object',
    n: 'number',
    d: 'date',
    b: 'boolean',
    l: 'array',
  };
  const sql = `select id, price, ratio, day, at, doc, plain, feels, :s as s, :u as u, :j as j, :n as n, :d as d, :b as b, :l as l
    from data.thing limit :i`;
  const query = await queryOf(
    database,
    capabilityOf(sql, {
      result,
      params: {
        s: { type: 'string' },
        u: { type: 'uuid' },
        j: { type: 'object' },
        n: { type: 'number' },
        d: { type: 'date' },
        b: { type: 'boolean' },
        l: { type: 'array', items: { type: 'datetime' } },
        i: { type: 'integer' },
      },
    }),
  );
  const u = 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11';
  const values = { s: 'x', u, j: { k: 1 }, n: 0.5, d: '2024-01-01', b: true, l: [], i: 5 };
  expect(JSON.parse(textOfRows(await query.run(callOf(values))))).toEqual([
    {
      id: 1,
      price: 2,
      ratio: 0.5,
      day: '2024-02-29',
      at: '2024-02-29T12:00:00+00:00',
      doc: { a: 1 },
      plain: { b: 2 },
      feels: 'glad',
      s: 'x',
      u,
      j: { k: 1 },
      n: 0.5,
      d: '2024-01-01',
      b: true,
      l: [],
    },
  ]);
});

test('and the types of parameters are asked for, and the values that they refuse', async () => {
  const sql = `select 1 as a from data.thing where feels operator(pg_catalog.=) :f and day operator(pg_catalog.=) :d::pg_catalog.date`;
  const params = { f: { type: 'string' }, d: { type: 'string' } } as const;
  const { capabilities, prepared, faults } = await database.verify([capabilityOf(sql, { params })]);
  expect(faults).toEqual([]);
  expect(capabilities[0]?.params[0]?.schema).toEqual({ type: 'string', enum: ['sad', 'glad'] });
  const [query] = prepared.map((each) => database.prepare(each));
  await expect(query?.run(callOf({ f: 'glad', d: 'never' }))).rejects.toMatchObject({
    kind: 'invalid_params',
    advice: 'd: must be a valid date',
  });
});
