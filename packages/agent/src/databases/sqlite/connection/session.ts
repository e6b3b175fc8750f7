import { stat } from 'node:fs/promises';
import { readProblem, type AbortSignalLike } from '@svc/edge';
import { startEngine, type Engine, type EngineLimit } from '../../engine-process/engine.ts';
import { DatabaseError } from '../../errors.ts';
import type { PlainSession } from '../../sessions/pool.ts';
import type { SqliteConfig } from '../config.ts';
import {
  ANSWER,
  ASK,
  readRows,
  type EngineFailure,
  type JudgeAnswer,
  type JudgeQuestion,
  type OpenQuestion,
  type ReadQuestion,
  type Rows,
  type RunQuestion,
} from '../engine/questions.ts';
import { engineCode } from '../engine-code.ts';
import { problemOfNode } from './node-version.ts';

/** Starting a process takes some tens of milliseconds, on a machine that is busy seconds. */
const OPEN_MS = 20_000;

/** A process that has the database open, and runs one query after the other. */
export interface SqliteSession extends PlainSession {
  readonly madeAt: number;
  /** False once its process has ended or is being ended. */
  readonly isUsable: boolean;
  /** The definitions that it has been told of, by their numbers. */
  readonly known: Set<number>;
  run(question: RunQuestion, limit: EngineLimit): Promise<Rows>;
  judge(question: JudgeQuestion): Promise<JudgeAnswer>;
  /** A statement of the driver itself. */
  read(question: ReadQuestion): Promise<readonly Readonly<Record<string, unknown>>[]>;
}

/** Opens the database in a process of its own. Throws `DatabaseError`. */
export async function openSession(config: SqliteConfig, signal: AbortSignalLike): Promise<SqliteSession> {
  const problem = problemOfNode() ?? (await problemOfFile(config.file));
  if (problem !== undefined) throw new DatabaseError('unavailable', problem, { advice: problem });
  const engine = startEngine({ code: engineCode(), memoryBytes: config.memoryBytes });
  const question: OpenQuestion = { file: config.file, isImmutable: config.isImmutable };
  try {
    await ask(engine, ASK.open, question, { timeoutMs: OPEN_MS, signal });
  } catch (error) {
    engine.kill();
    throw error;
  }
  return {
    madeAt: performance.now(),
    get isUsable() {
      return engine.isUsable;
    },
    known: new Set(),
    onEnd: (ended) => engine.onEnd(ended),
    destroy: () => engine.kill(),
    close: () => engine.close(),
    run: async (asked, limit) => readRows(await ask(engine, ASK.run, asked, limit)),
    judge: async (asked) => jsonOf(await ask(engine, ASK.judge, asked)),
    read: async (asked) => jsonOf(await ask(engine, ASK.read, asked)),
  };
}

/** A process is not started for a file that is not there. */
async function problemOfFile(file: string): Promise<string | undefined> {
  try {
    return (await stat(file)).isFile() ? undefined : 'file names no file: check file';
  } catch (error) {
    return `the file cannot be read: ${readProblem(error)}: check file`;
  }
}

/** What a process says of a query that it could not run; where values are at fault, what is wrong with them. */
export class RefusedQuery extends DatabaseError {
  readonly mistake: string | undefined;
  constructor({ kind, message, advice, mistake }: EngineFailure) {
    super(kind, message, { advice });
    this.mistake = mistake;
  }
}

async function ask(engine: Engine, kind: number, question: unknown, limit?: EngineLimit): Promise<Buffer> {
  const answer = await engine.ask(kind, Buffer.from(JSON.stringify(question)), limit);
  if (answer.kind === ANSWER.failed) throw new RefusedQuery(jsonOf<EngineFailure>(answer.body));
  return answer.body;
}

function jsonOf<Answer>(body: Buffer): Answer {
  const answer: Answer = JSON.parse(body.toString('utf8'));
  return answer;
}
