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

/** Starting a process takes tens of milliseconds, or seconds on a busy machine. */
const OPEN_MS = 20_000;
/** Preparing a statement may compute its constants. */
const ASK_MS = 30_000;

/** A process that has the database open, and runs one query after the other. */
export interface EngineSession extends PooledSession {
  readonly madeAt: number;
  /** False once its process has ended or is being ended. */
  readonly isUsable: boolean;
  /** The numbers of the queries that it knows. */
  readonly known: Set<number>;
  run(question: RunQuestion, limit: EngineLimit): Promise<Rows>;
  /** Resolves with the JSON of its answer. Rejects after half a minute. */
  ask<Answer>(kind: number, question: unknown): Promise<Answer>;
}

/** Starts a process and has it open the database that `question` names. Throws `DatabaseError`. */
export async function openEngineSession(
  options: EngineOptions,
  question: unknown,
  signal: AbortSignalLike,
): Promise<EngineSession> {
  const engine = await open(options, question, signal).catch((error: unknown) => {
    // A process that was killed meanwhile says nothing about the database.
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

/** A process could not run a query. `faults` tells which values are the reason. */
export class RefusedQuery extends DatabaseError {
  readonly faults: readonly ValueFault[];
  constructor({ kind, message, advice, faults = [] }: EngineFailure) {
    super(kind, message, { advice });
    this.faults = faults;
  }
}

/** Kills a process whose answer cannot be read or is of the wrong kind. */
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
