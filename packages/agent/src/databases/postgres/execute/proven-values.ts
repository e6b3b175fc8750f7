import { ProvenFaults, type ValueFault } from '../../sql/probes/proven-faults.ts';
import { DatabaseError } from '../../driver/errors.ts';
import type { TimeLimit } from '../../sessions/wait-queue.ts';
import { sqlStateOf } from '../connection/server-errors.ts';
import type { SessionPool } from '../pool/session-pool.ts';
import { bindValue } from './bind-values.ts';
import type { PreparedQuery } from './prepared-query.ts';
import { attribution, runTransaction, type Transaction } from './transaction.ts';

/** SQLSTATEs by which functions and clauses refuse an argument: another value may pass. */
const REFUSED_ARGUMENT: Readonly<Record<string, string>> = {
  '2201W': 'a row count must not be negative',
  '2201X': 'a row offset must not be negative',
  '2202G': 'the seed of a sample must not be null',
  '2202H': 'the size of a sample is out of range',
  '22007': 'it is no valid date or time',
  '22008': 'a date or time is out of range',
  '22009': 'it is no valid time zone',
  '22023': 'it is no value that the query takes',
};

function reasonOf(state: string): string {
  if (state === '2201B') return 'it is no valid regular expression';
  return REFUSED_ARGUMENT[state] ?? 'it is no value that the query takes';
}

/** What a caller is told to change if the query failed by a value that each parameter alone took. */
export function callersMistake(state: string | undefined, params: readonly string[]): string | undefined {
  const reason = state === undefined ? undefined : REFUSED_ARGUMENT[state];
  return reason === undefined || params.length === 0 ? undefined : `${params.join(', ')}: ${reason}`;
}

/** Data exceptions other than overflow and division by zero, which are the query's, and the errors of XPath and tsquery. */
const REFUSED_VALUE = /^(?:10608|22(?!003|012)...|42601)$/;

/** The values that a function or an operator of the SQL refuses by themselves in the way in which the query has failed. */
export async function provenValues(
  pool: SessionPool,
  settings: Transaction['settings'],
  { probes, params }: PreparedQuery,
  valueOf: (name: string) => unknown,
  limit: TimeLimit,
  failure: unknown,
): Promise<readonly ValueFault[]> {
  const state = sqlStateOf(failure) ?? '';
  const faults = new ProvenFaults();
  if (!REFUSED_VALUE.test(state)) return [];
  const deadline = performance.now() + limit.timeoutMs;
  try {
    for (const probe of probes) {
      if (!faults.isOpen(probe)) continue;
      const left = { ...limit, timeoutMs: deadline - performance.now() };
      const values = probe.params.map((index) => {
        const param = params[index]?.param;
        return param === undefined ? null : bindValue(param.schema, valueOf(param.name));
      });
      const statements = [{ text: `${attribution(settings.capability)}${probe.text}`, values }];
      const session = await pool.acquire(left);
      const done = await runTransaction(pool, session, { settings, statements }, left);
      if (!done.begun || done.stopped !== undefined) break;
      faults.add(probe, sqlStateOf(done.error) === state ? reasonOf(state) : undefined);
    }
  } catch (error) {
    if (!(error instanceof DatabaseError)) throw error;
  }
  return faults.all;
}
