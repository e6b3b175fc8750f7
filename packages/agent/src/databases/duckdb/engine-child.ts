import {
  endWithParent,
  questionOf,
  reply,
  replyFailed,
  serveEngine,
  type EngineQuestion,
} from '../engine-process/serve-engine.ts';
import { ASK, type ReadQuestion, type RunQuestion } from '../engine-process/engine-questions.ts';
import { failureOf } from './engine/failure.ts';
import {
  ASK_PROBE,
  type JudgeQuestion,
  type OpenQuestion,
  type ProbeQuestion,
  type QueryDefinition,
} from './engine/questions.ts';
import { QueryRunner } from './engine/run-query.ts';

// The main file of the process that holds a database open, in a bundle of its own.
let runner: QueryRunner | undefined;
endWithParent();
serveEngine(take, killItself);

/** An exit would wait for the threads of the engine, and a query may never end. */
function killItself(): void {
  process.kill(process.pid, 'SIGKILL');
}

function take(question: EngineQuestion): void {
  if (question.kind === ASK.interrupt) {
    runner?.interrupt();
    return;
  }
  outcomeOf(question).then(
    (outcome) => reply(question, outcome),
    (error: unknown) => replyFailed(question, failureOf(error)),
  );
}

async function outcomeOf(question: EngineQuestion): Promise<unknown> {
  const { kind } = question;
  if (kind === ASK.open) {
    runner = await QueryRunner.open(questionOf<OpenQuestion>(question));
    return {};
  }
  if (runner === undefined) throw new Error('no database is open');
  switch (kind) {
    case ASK.run:
      return runner.run(questionOf<RunQuestion<QueryDefinition>>(question));
    case ASK.judge:
      return runner.judge(questionOf<JudgeQuestion>(question));
    case ASK_PROBE:
      return runner.probe(questionOf<ProbeQuestion>(question));
    case ASK.read:
      return runner.read(questionOf<ReadQuestion>(question));
    default:
      throw new Error(`there is no question of kind ${kind}`);
  }
}
