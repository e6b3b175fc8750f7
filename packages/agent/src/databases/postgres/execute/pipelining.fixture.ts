import type { Query, QueryCall } from '../../driver/driver.ts';
import { callOf, capabilityOf, queryOf, textOfRows, type TestedDatabase } from '../capability.fixture.ts';

/** What the SQL of `prepareCall` needs. */
export const schema = `
  create table note (text text);
  create function outcome(n int, state text) returns int language plpgsql stable as $$ begin
    if state <> '' then raise exception using errcode = state; end if;
    return n;
  end $$;
  create function usurp(n int, statement text) returns int language plpgsql as $$ declare name text; begin
    if statement = '' then return n; end if;
    for name in select p.name from pg_prepared_statements p loop
      execute format('deallocate %I', name);
      execute format('prepare %I as %s', name, statement);
    end loop;
    return n;
  end $$;
`;
export interface Values {
  readonly n: number;
  /** How many seconds it takes. */
  readonly s?: number;
  /** The SQLSTATE that it fails with. */
  readonly state?: string;
  /** What it prepares under every name that the session has. */
  readonly statement?: string;
  /** How many characters more the answer has. */
  readonly size?: number;
}

interface SampleRow {
  readonly n: number;
  readonly pid: number;
  readonly who: string;
  readonly since: string;
  readonly readOnly: string;
  readonly pad: string;
}

export type Run = (values: Values, changes?: Partial<QueryCall>) => Promise<SampleRow>;

/** A call whose `n` comes back, from a query that is expected to be short unless `isNew`. */
export async function prepareCall(database: TestedDatabase, isNew: boolean = false): Promise<Run> {
  const query = await queryOf(
    database,
    capabilityOf(
      `select outcome(usurp(:n::int, :statement), :state) as n, pg_backend_pid() as pid,
         concat(current_setting('svc.api_key_name'), '/', current_setting('svc.request_id')) as who,
         now()::text as since, current_setting('transaction_read_only') as "readOnly",
         repeat('x', :size::int) as pad
       from pg_sleep(:s::float8)`,
      {
        params: {
          n: { type: 'integer' },
          s: { type: 'number' },
          state: { type: 'string' },
          statement: { type: 'string' },
          size: { type: 'integer' },
        },
        result: {
          n: 'integer',
          pid: 'integer',
          who: 'string',
          since: 'string',
          readOnly: 'string',
          pad: 'string',
        },
        allowFunctions: ['pg_sleep', 'outcome', 'usurp'],
      },
    ),
  );
  const run = runOf(query);
  if (!isNew) await train(run);
  return run;
}

function runOf(query: Query): Run {
  return async (values, changes) => {
    const all = { s: 0, state: '', statement: '', size: 0, ...values };
    const rows: readonly SampleRow[] = JSON.parse(textOfRows(await query.run(callOf(all, changes))));
    const [row] = rows;
    if (row === undefined) throw new Error('no row');
    return row;
  };
}

/** Calls until the latency tracker trusts the query as much as it can. */
export async function train(run: Run): Promise<void> {
  for (let quick = 0; quick < 8;) {
    const started = performance.now();
    await run({ n: 0 });
    quick = performance.now() - started < 9 ? quick + 1 : 0;
  }
}

export function numbers(count: number): number[] {
  return Array.from({ length: count }, (_, index) => index + 1);
}

/** The kind of the error that it ends with, or 'answered'. */
export function kindOfRefusal(call: Promise<unknown>): Promise<unknown> {
  return call.then(
    () => 'answered',
    (error: unknown) => (error instanceof Error && 'kind' in error ? error.kind : error),
  );
}
