import {
  endWithParent,
  questionOf,
  reply,
  replyFailed,
  serveEngine,
  type EngineQuestion,
} from '../engine-process/serve-engine.ts';
import {
  ASK,
  type JudgeAnswer,
  type ReadQuestion,
  type RunQuestion,
} from '../engine-process/engine-questions.ts';
import { asSqliteError, failureOf } from './engine/failure.ts';
import { mayDiffer, problemOfProgram } from './engine/judge-program.ts';
import type { SqliteDatabase } from './engine/node-sqlite.ts';
import type { JudgeQuestion, OpenQuestion, QueryDefinition, SqliteColumn } from './engine/questions.ts';
import { QueryRunner } from './engine/run-query.ts';

// The main file of the process that holds a database open, in a bundle of its own.
let runner: QueryRunner | undefined;
endWithParent();
serveEngine((question) => {
  try {
    reply(question, outcomeOf(question));
  } catch (error) {
    replyFailed(question, failureOf(error));
  }
});

function outcomeOf(question: EngineQuestion): unknown {
  const { kind } = question;
  if (kind === ASK.open) {
    runner = new QueryRunner(questionOf<OpenQuestion>(question));
    return {};
  }
  if (runner === undefined) throw new Error('no database is open');
  switch (kind) {
    case ASK.run:
      return runner.run(questionOf<RunQuestion<QueryDefinition>>(question));
    case ASK.judge:
      return runner.within((database) => judge(database, questionOf<JudgeQuestion>(question)));
    case ASK.read:
      return runner.within((database) => database.prepare(questionOf<ReadQuestion>(question).sql).all());
    default:
      throw new Error(`there is no question of kind ${kind}`);
  }
}

function judge(database: SqliteDatabase, { text, allowFunctions }: JudgeQuestion): JudgeAnswer<SqliteColumn> {
  try {
    const problem = problemOfProgram(database, text, allowFunctions);
    if (problem !== undefined) return { ok: false, problem };
    const columns = database.prepare(text).columns();
    return {
      ok: true,
      columns: columns.map(({ name, type }) => ({ name, type })),
      mayDiffer: mayDiffer(database, text),
    };
  } catch (error) {
    const { errcode, errstr, message } = asSqliteError(error);
    if (errcode === undefined) throw error;
    const problem = `is not accepted by the database: error ${errcode}, ${errstr}`;
    return { ok: false, problem, detail: message };
  }
}
