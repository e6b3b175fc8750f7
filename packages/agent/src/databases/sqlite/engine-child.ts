import { endWithParent, serveEngine, type EngineQuestion } from '../engine-process/serve-engine.ts';
import { ANSWER, ASK, type JudgeAnswer, type RunQuestion } from '../engine-process/engine-questions.ts';
import { asSqliteError, failureOf } from './engine/failure.ts';
import { problemOfProgram } from './engine/judge-program.ts';
import type { SqliteDatabase } from './engine/node-sqlite.ts';
import type {
  JudgeQuestion,
  OpenQuestion,
  QueryDefinition,
  ReadQuestion,
  SqliteColumn,
} from './engine/questions.ts';
import { QueryRunner } from './engine/run-query.ts';

// The main file of the process that holds a database open; bundled apart, since it is all that such a process needs.
let runner: QueryRunner | undefined;
endWithParent();
serveEngine(({ kind, body, answer }) => {
  try {
    const reply = replyTo(kind, body);
    if (reply instanceof Uint8Array) answer(ANSWER.rows, reply);
    else answer(ANSWER.json, jsonBody(reply));
  } catch (error) {
    answer(ANSWER.failed, jsonBody(failureOf(error)));
  }
});

function replyTo(kind: number, body: EngineQuestion['body']): unknown {
  if (kind === ASK.open) {
    runner = new QueryRunner(questionOf<OpenQuestion>(body));
    return {};
  }
  if (runner === undefined) throw new Error('no database is open');
  switch (kind) {
    case ASK.run:
      return runner.run(questionOf<RunQuestion<QueryDefinition>>(body));
    case ASK.judge:
      return runner.within((database) => judge(database, questionOf<JudgeQuestion>(body)));
    case ASK.read:
      return runner.within((database) => read(database, questionOf<ReadQuestion>(body)));
    default:
      throw new Error(`there is no question of kind ${kind}`);
  }
}

function judge(database: SqliteDatabase, { text, allowFunctions }: JudgeQuestion): JudgeAnswer<SqliteColumn> {
  try {
    const problem = problemOfProgram(database, text, allowFunctions);
    if (problem !== undefined) return { ok: false, problem };
    const columns = database.prepare(text).columns();
    return { ok: true, columns: columns.map(({ name, type }) => ({ name, type })) };
  } catch (error) {
    const { errcode, errstr, message } = asSqliteError(error);
    if (errcode === undefined) throw error;
    const problem = `is not accepted by the database: error ${errcode}, ${errstr}`;
    return { ok: false, problem, detail: message };
  }
}

function read(database: SqliteDatabase, { sql }: ReadQuestion): unknown {
  return database.prepare(sql).all();
}

function questionOf<Question>(body: Buffer): Question {
  const question: Question = JSON.parse(body.toString('utf8'));
  return question;
}

function jsonBody(value: unknown): Buffer {
  return Buffer.from(JSON.stringify(value));
}
