import { DatabaseError } from '../../driver/errors.ts';
import type { Query } from '../../driver/driver.ts';
import { bindValue } from '../execute/bind-values.ts';
import type { PreparedQuery } from '../execute/prepared-query.ts';
import { runTransaction } from '../execute/transaction.ts';
import { kindOf, textOf } from '../connection/server-errors.ts';
import type { SessionPool } from '../pool/session-pool.ts';
import { readPlan } from './read-plan.ts';

/** A query that answers with its `QueryPlan`: it runs as for a call, with the call's values, and its rows are thrown away. */
export function createExplain(pool: SessionPool, { capability, prefix, params }: PreparedQuery): Query {
  return {
    async run({ values, apiKeyName, requestId, caller, timeoutMs, signal }) {
      const session = await pool.acquire({ signal, timeoutMs });
      const settings = { apiKeyName, capability, requestId, caller };
      const bound = params.map(({ param }) => bindValue(param.schema, values[param.name]));
      const statements = [{ text: `explain (analyze, buffers off, format json) ${prefix}`, values: bound }];
      const done = await runTransaction(pool, session, { settings, statements }, { signal, timeoutMs });
      const { error } = done;
      if (error !== undefined) throw new DatabaseError(done.stopped ?? kindOf(error), textOf(error));
      const text = done.results[0]?.rows[0]?.[0] ?? '[]';
      const rows = Buffer.from(JSON.stringify(readPlan(JSON.parse(text))));
      return { rows, count: 0, truncated: false };
    },
  };
}
