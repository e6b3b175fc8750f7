import type { PreparedCapability, Query, QueryCall, QueryResult } from '../driver.ts';
import { DatabaseError } from '../errors.ts';
import type { Pool } from '../sessions/pool.ts';
import { callerValue } from '../sql/caller-variables.ts';
import { RefusedQuery, type EngineSession } from './engine-session.ts';
import type { Param } from '../../capabilities/model.ts';

/** A capability whose SQL has passed every check: what verification leaves for the calls, as plain data. */
export interface EngineQuery<Definition = unknown> extends PreparedCapability {
  /** What the process has to know of it. */
  readonly definition: Definition;
  /** In the order of their numbers in the SQL; those that say who calls are among them. */
  readonly params: readonly Param[];
}

/** What ran longer in a process that ended may be what ended it, and is not run again. */
const RUN_AGAIN_MS = 1000;

export interface Queries {
  prepare(verified: EngineQuery): Query;
  forget(query: Query): void;
}

/** Queries by numbers, under which the processes know them. */
export function createQueries(pool: Pool<EngineSession>): Queries {
  const numbers = new Map<Query, number>();
  const live = new Set<number>();
  let last = 0;
  return {
    prepare(verified) {
      last += 1;
      const number = last;
      live.add(number);
      const query: Query = { run: (call) => run(pool, live, number, verified, call) };
      numbers.set(query, number);
      return query;
    },
    forget(query) {
      const number = numbers.get(query);
      if (number !== undefined) live.delete(number);
      numbers.delete(query);
    },
  };
}

async function run(
  pool: Pool<EngineSession>,
  live: ReadonlySet<number>,
  number: number,
  verified: EngineQuery,
  call: QueryCall,
): Promise<QueryResult> {
  const startedAt = performance.now();
  const deadline = startedAt + call.timeoutMs;
  const { signal, share } = call;
  const values = verified.params.map(({ name }) => valueOf(name, verified.capability, call));
  for (;;) {
    const session = await pool.acquire({ signal, share, timeoutMs: deadline - performance.now() });
    const askedAt = performance.now();
    const isFirst = !session.known.has(number);
    const forget = isFirst ? [...session.known].filter((each) => !live.has(each)) : [];
    for (const each of forget) session.known.delete(each);
    session.known.add(number);
    try {
      const result = await session.run(
        { query: number, values, ...(isFirst ? { definition: verified.definition, forget } : {}) },
        { timeoutMs: deadline - askedAt, signal },
      );
      pool.release(session);
      return result;
    } catch (error) {
      const isRefused = error instanceof RefusedQuery && error.kind !== 'unavailable';
      if (isRefused) pool.release(session);
      else pool.discard(session);
      if (!mayRunAgain(error, session, startedAt, askedAt)) throw toDatabaseError(error, verified, call);
    }
  }
}

/** Whether the process had ended before it was asked, as far as that can be told: one made for this call had not. */
function mayRunAgain(error: unknown, session: EngineSession, startedAt: number, askedAt: number): boolean {
  const isLoss = error instanceof DatabaseError && error.kind === 'unavailable';
  return isLoss && session.madeAt < startedAt && performance.now() - askedAt < RUN_AGAIN_MS;
}

function valueOf(name: string, capability: string, call: QueryCall): unknown {
  const { values } = call;
  return (
    callerValue(name, call, capability) ?? (Object.hasOwn(values, name) ? values[name] : undefined) ?? null
  );
}

/** Tells a value that the engine does not take by the name of its parameter. */
function toDatabaseError(error: unknown, { params }: EngineQuery, { values }: QueryCall): unknown {
  if (!(error instanceof RefusedQuery) || error.mistake === undefined) return error;
  const { message, mistake } = error;
  const given = params.filter(({ name, from }) => from === undefined && (values[name] ?? null) !== null);
  if (given.length > 0) {
    const advice = `${given.map(({ name }) => name).join(', ')}: ${mistake}`;
    return new DatabaseError('invalid_params', message, { advice });
  }
  const isPrincipals = params.some(({ from }) => from !== undefined);
  return new DatabaseError(isPrincipals ? 'invalid_principal' : 'failed', message);
}
