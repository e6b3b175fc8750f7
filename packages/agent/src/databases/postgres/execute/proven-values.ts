import { ProvenFaults, type ValueFault } from '../../sql/probes/proven-faults.ts';
import { DatabaseError } from '../../driver/errors.ts';
import type { TimeLimit } from '../../sessions/wait-queue.ts';
import { sqlStateOf } from '../connection/server-errors.ts';
import type { SessionPool } from '../pool/session-pool.ts';
import { attribution } from './attribution.ts';
import { bindValue } from './bind-values.ts';
import { reasonOf } from './callers-mistake.ts';
import type { PreparedQuery } from './prepared-query.ts';
import { runTransaction, type Transaction } from './transaction.ts';

/**
 * Data exceptions other than overflow and division by zero, which are the query's, and how functions with a grammar of
 * their own complain: XPath and tsquery.
 */
const REFUSED_VALUE = /^(?:10608|22(?!003|012)...|42601)$/;

/** Which values a function or an operator of the SQL refuses by themselves as the query has failed. */
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
    // Then what is known stands.
    if (!(error instanceof DatabaseError)) throw error;
  }
  return faults.all;
}
