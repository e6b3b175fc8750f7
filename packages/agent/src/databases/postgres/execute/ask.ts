import { DatabaseError } from '../../errors.ts';
import { kindOf, textOf } from '../connection/server-errors.ts';
import { exchange } from './transaction.ts';
import type { Rows, Statement } from '../connection/pipeline.ts';
import type { SessionPool } from '../pool/session-pool.ts';
import type { SessionFacts } from '../connection/session.ts';

export interface Question {
  readonly statements: readonly Statement[];
  /** For whom it is asked; empty for the service itself. */
  readonly capability: string;
  readonly timeoutMs: number;
}

export interface Answer {
  readonly results: readonly Rows[];
  readonly facts: SessionFacts;
}

/** Runs the service's own statements as calls are run; throws `DatabaseError`, its cause being what failed. */
export async function ask(pool: SessionPool, question: Question): Promise<Answer> {
  const wait = { signal: new AbortController().signal, timeoutMs: question.timeoutMs };
  const session = await pool.acquire(wait);
  const settings = { apiKeyName: '', capability: question.capability, requestId: '' };
  const done = await exchange(pool, session, { ...question, settings }, wait);
  const { error } = done;
  if (error !== undefined)
    throw new DatabaseError(done.stopped ?? kindOf(error), textOf(error), { cause: error });
  return { results: done.results, facts: session.facts };
}
