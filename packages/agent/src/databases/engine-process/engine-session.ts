import type { AbortSignalLike } from '@svc/edge';
import { DatabaseError } from '../driver/errors.ts';
import type { PooledSession } from '../sessions/pool-base.ts';
import type { ValueFault } from '../sql/probes/proven-faults.ts';
import { startEngine, type Engine, type EngineLimit, type EngineOptions } from './engine.ts';
import {
  ANSWER,
  ASK,
  readRows,
  type EngineFailure,
  type Rows,
  type RunQuestion,
} from './engine-questions.ts';

/** Starting a process takes some tens of milliseconds, on a machine that is busy seconds. */
const OPEN_MS = 20_000;
/** To prepare a statement may mean to compute what is constant in it. */
const ASK_MS = 30_000;

/** A process that has the database open, and runs one query after the other. */
export interface EngineSession extends PooledSession {
  readonly madeAt: number;
  /** False once its process has ended or is being ended. */
  readonly isUsable: boolean;
  /** The definitions that it has been told of, by their numbers. */
  readonly known: Set<number>;
  run(question: RunQuestion, limit: EngineLimit): Promise<Rows>;
  /** The JSON that it answers, within half a minute. */
  ask<Answer>(kind: number, question: unknown): Promise<Answer>;
}

/** Starts a process and has it open the database that `question` names. Throws `DatabaseError`. */
export async function openEngineSession(
  options: EngineOptions,
  question: unknown,
  signal: AbortSignalLike,
): Promise<EngineSession> {
  const engine = await open(options, question, signal).catch((error: unknown) => {
    // A process that somebody has ended meanwhile says nothing of the database.
    const hasAnswered = error instanceof RefusedQuery;
    if (hasAnswered || !(error instanceof DatabaseError) || error.kind !== 'unavailable') throw error;
    return open(options, question, signal);
  });
  return {
    madeAt: performance.now(),
    get isUsable() {
      return engine.isUsable;
    },
    known: new Set(),
    onEnd: (ended) => engine.onEnd(ended),
    destroy: () => engine.kill(),
    close: () => engine.close(),
    run: (asked, limit) => ask(engine, ASK.run, asked, limit, ANSWER.rows, readRows),
    ask: <Answer>(kind: number, asked: unknown) => {
      const limit = { timeoutMs: ASK_MS, signal: new AbortController().signal };
      return ask(engine, kind, asked, limit, ANSWER.json, jsonOf<Answer>);
    },
  };
}

async function open(options: EngineOptions, question: unknown, signal: AbortSignalLike): Promise<Engine> {
  const engine = startEngine(options);
  try {
    await ask(engine, ASK.open, question, { timeoutMs: OPEN_MS, signal }, ANSWER.json, jsonOf);
    return engine;
  } catch (error) {
    engine.kill();
    throw error;
  }
}

/** What a process says of a query that it could not run; where values are at fault, what is wrong with them. */
export class RefusedQuery extends DatabaseError {
  readonly faults: readonly ValueFault[];
  constructor({ kind, message, advice, faults = [] }: EngineFailure) {
    super(kind, message, { advice });
    this.faults = faults;
  }
}

/** Ends a process whose answer cannot be read, or is of another kind than the question asks for. */
async function ask<Answer>(
  engine: Engine,
  kind: number,
  question: unknown,
  limit: EngineLimit,
  answerKind: number,
  read: (body: Buffer) => Answer,
): Promise<Answer> {
  const answer = await engine.ask(kind, Buffer.from(JSON.stringify(question)), limit);
  try {
    if (answer.kind === ANSWER.failed) throw new RefusedQuery(jsonOf<EngineFailure>(answer.body));
    if (answer.kind === answerKind) return read(answer.body);
  } catch (error) {
    if (error instanceof RefusedQuery) throw error;
  }
  engine.kill();
  throw new DatabaseError('unavailable', 'the engine process has sent an answer that cannot be read');
}

function jsonOf<Answer>(body: Buffer): Answer {
  const answer: Answer = JSON.parse(body.toString('utf8'));
  return answer;
}
