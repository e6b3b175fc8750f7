import { pick } from '@svc/testkit';
import type { QueryCall } from '../../../packages/agent/src/databases/driver/driver.ts';
import {
  capabilityOf,
  type CapabilityOptions,
} from '../../../packages/agent/src/databases/postgres/capability.fixture.ts';
import type { Capability } from '../../../packages/agent/src/capabilities/model.ts';

/** A call whose end is known before it is made. */
export interface KnownCall {
  readonly capability: string;
  readonly values: QueryCall['values'];
  readonly apiKeyName: string;
  readonly requestId: string;
  readonly timeoutMs: number;
  /** When its caller goes away. */
  readonly abortMs: number | undefined;
  /** The rows as JSON, or the kind of its error. */
  readonly expected: string;
}

/** Names that need two and three bytes for a letter are among them. */
const KEY_NAMES = ['reports', 'batch "job"', 'Zürich', '東京', "o'brien"] as const;
/** How many rows of `owned` each key has for each value of `bucket`. */
const OWNED = 3;

/** How many rows `shelf` has. */
const SHELF = 50;

export const READER = 'oracle_reader';

export function schemaSql(): readonly string[] {
  const names = KEY_NAMES.map((name) => `('${name.replaceAll("'", "''")}')`).join(', ');
  return [
    'create table note (text text)',
    'create table owned (bucket int, n int, key_name text)',
    `insert into owned select b, n, name from generate_series(0, 49) b, generate_series(1, ${OWNED}) n, (values ${names}) k(name)`,
    'alter table owned enable row level security',
    "create policy of_the_key on owned using (key_name = current_setting('svc.api_key_name'))",
    `create function outcome(n int, state text) returns int language plpgsql stable as $$ begin
      if state <> '' then raise exception using errcode = state; end if;
      return n;
    end $$`,
    `create function usurp(n int, statement text) returns int language plpgsql as $$ declare name text; begin
      if statement = '' then return n; end if;
      for name in select p.name from pg_prepared_statements p loop
        execute format('deallocate %I', name);
        execute format('prepare %I as %s', name, statement);
      end loop;
      return n;
    end $$`,
    `create function held(n int) returns int language plpgsql stable as $$ begin
      perform pg_advisory_lock_shared(n);
      return n;
    end $$`,
    'create table shelf (n int primary key, title text)',
    `insert into shelf select n, 'title ' || n from generate_series(0, ${SHELF - 1}) n`,
    'grant select on owned, shelf to public',
  ];
}

const PLAIN = 10;
const SHELVED = 4;
const who =
  "current_setting('svc.api_key_name') as who, current_setting('svc.request_id') as request, current_setting('transaction_read_only') as mode";
const whoResult = { who: 'string', request: 'string', mode: 'string' } as const;
const n = { n: { type: 'integer' } } as const;

const OPTIONS: Readonly<Record<string, readonly [string, CapabilityOptions]>> = {
  ...Object.fromEntries(
    Array.from({ length: PLAIN }, (_, k) => [
      `plain_${k}`,
      [
        `select :n::int as n, ${k} as k, ${who}`,
        { params: n, result: { n: 'integer', k: 'integer', ...whoResult } },
      ] as const,
    ]),
  ),
  // Calls of these may share transactions.
  ...Object.fromEntries(
    Array.from({ length: SHELVED }, (_, k) => [
      `shelved_${k}`,
      [
        `select n, title, ${k} as k from shelf where n = :n::int`,
        { params: n, result: { n: 'integer', title: 'string', k: 'integer' } },
      ] as const,
    ]),
  ),
  shared_fails: ['select 6 / :n::int as n', { params: n, result: { n: 'integer' } }],
  owned_rows: [
    'select n, key_name from owned where bucket = :n::int order by n',
    { params: n, result: { n: 'integer', key_name: 'string' } },
  ],
  owned_count: [
    'select count(*) as n from owned where bucket = :n::int',
    { params: n, result: { n: 'integer' } },
  ],
  many_rows: [
    `select i as n, ${who} from generate_series(1, 80) i`,
    { result: { n: 'integer', ...whoResult } },
  ],
  long: [
    `select :n::int as n, ${who} from pg_sleep(0.025)`,
    { params: n, result: { n: 'integer', ...whoResult }, allowFunctions: ['pg_sleep'] },
  ],
  seldom_long: [
    `select :n::int as n, ${who} from pg_sleep(:s::float8)`,
    {
      params: { ...n, s: { type: 'number' } },
      result: { n: 'integer', ...whoResult },
      allowFunctions: ['pg_sleep'],
    },
  ],
  seldom_fails: [
    `select outcome(:n::int, :state) as n, ${who}`,
    {
      params: { ...n, state: { type: 'string' } },
      result: { n: 'integer', ...whoResult },
      allowFunctions: ['outcome'],
    },
  ],
  always_fails: [
    'select outcome(:n::int, :state) as n',
    { params: { ...n, state: { type: 'string' } }, result: { n: 'integer' }, allowFunctions: ['outcome'] },
  ],
  too_large: [
    "select :n::int as n, repeat('x', :size::int) as pad",
    {
      params: { ...n, size: { type: 'integer' } },
      result: { n: 'integer', pad: 'string' },
      limits: { maxBytes: 20_000, onLimit: 'error' },
    },
  ],
  usurper: [
    `select usurp(:n::int, :statement) as n, ${who}`,
    {
      params: { ...n, statement: { type: 'string' } },
      result: { n: 'integer', ...whoResult },
      allowFunctions: ['usurp'],
    },
  ],
  locks: ['select held(:n::int) as n', { params: n, result: { n: 'integer' }, allowFunctions: ['held'] }],
};

export const CAPABILITIES: readonly Capability[] = Object.entries(OPTIONS).map(([name, [sql, options]]) =>
  capabilityOf(sql, { ...options, name }),
);

/** Most are brief, so that most are sent in batches; the others get among them. */
export function nextCall(next: () => number, count: number): KnownCall {
  const random = (below: number): number => Math.floor(below * next());
  const apiKeyName = pick(next, KEY_NAMES);
  const requestId = `request-${count}`;
  const bucket = random(50);
  const caller = { who: apiKeyName, request: requestId, mode: 'on' };
  const call = (
    capability: string,
    values: KnownCall['values'],
    expected: object | string,
    changes: Partial<KnownCall> = {},
  ): KnownCall => ({
    capability,
    values,
    apiKeyName,
    requestId,
    timeoutMs: 4000,
    abortMs: random(40) === 0 ? random(6) : undefined,
    expected: typeof expected === 'string' ? expected : JSON.stringify(expected),
    ...changes,
  });
  const one = { n: count, ...caller };
  const kind = random(200);
  if (kind < 90) {
    const k = random(SHELVED);
    return call(`shelved_${k}`, { n: bucket }, [{ n: bucket, title: `title ${bucket}`, k }]);
  }
  if (kind < 94) {
    const fails = random(5) === 0;
    return call('shared_fails', { n: fails ? 0 : 2 }, fails ? 'failed' : [{ n: 3 }]);
  }
  if (kind < 124) {
    const k = random(PLAIN);
    return call(`plain_${k}`, { n: count }, [{ n: count, k, ...caller }]);
  }
  if (kind < 140) {
    const rows = Array.from({ length: OWNED }, (_, index) => ({ n: index + 1, key_name: apiKeyName }));
    return call('owned_rows', { n: bucket }, rows);
  }
  if (kind < 155) return call('owned_count', { n: bucket }, [{ n: OWNED }]);
  if (kind < 162) {
    const rows = Array.from({ length: 80 }, (_, index) => ({ n: index + 1, ...caller }));
    return call('many_rows', {}, rows);
  }
  if (kind < 164) return call('long', { n: count }, [one]);
  if (kind < 174) {
    const s = random(30) === 0 ? 0.04 : 0;
    return call('seldom_long', { n: count, s }, [one]);
  }
  if (kind < 176) return call('seldom_long', { n: count, s: 5 }, 'timeout', { timeoutMs: 5 + random(60) });
  if (kind < 186) {
    const fails = random(5) === 0;
    return call('seldom_fails', { n: count, state: fails ? '22012' : '' }, fails ? 'failed' : [one]);
  }
  if (kind < 188) return call('always_fails', { n: count, state: 'P0001' }, 'failed');
  if (kind < 193) {
    const size = random(4) === 0 ? 30_000 : random(4000);
    const expected = size > 20_000 ? 'too_large' : [{ n: count, pad: 'x'.repeat(size) }];
    return call('too_large', { n: count, size }, expected);
  }
  if (kind < 196) {
    const lies = random(3) === 0;
    const statement = lies ? "insert into note select 'written'" : '';
    return call('usurper', { n: count, statement }, [one]);
  }
  return call('locks', { n: bucket }, [{ n: bucket }]);
}
