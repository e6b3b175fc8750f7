import { endWithParent, serveEngine, type EngineQuestion } from '../engine-process/serve-engine.ts';
import { ANSWER, ASK, type RunQuestion } from '../engine-process/engine-questions.ts';
import { failureOf } from './engine/failure.ts';
import {
  ASK_PROBE,
  type JudgeQuestion,
  type OpenQuestion,
  type ProbeQuestion,
  type QueryDefinition,
  type ReadQuestion,
} from './engine/questions.ts';
import { QueryRunner } from './engine/run-query.ts';

// The main file of the process that holds a database open; bundled apart, since it is all that such a process needs.
let runner: QueryRunner | undefined;
endWithParent();
serveEngine(take, killItself);

/** An exit would wait for the threads of the engine, and a query may have no end of its own. */
function killItself(): void {
  process.kill(process.pid, 'SIGKILL');
}

function take({ kind, body, answer }: EngineQuestion): void {
  if (kind === ASK.interrupt) {
    runner?.interrupt();
    return;
  }
  replyTo(kind, body).then(
    (reply) => {
      if (reply instanceof Uint8Array) answer(ANSWER.rows, reply);
      else answer(ANSWER.json, jsonBody(reply));
    },
    (error: unknown) => answer(ANSWER.failed, jsonBody(failureOf(error))),
  );
}

async function replyTo(kind: number, body: EngineQuestion['body']): Promise<unknown> {
  if (kind === ASK.open) {
    runner = await QueryRunner.open(questionOf<OpenQuestion>(body));
    return {};
  }
  if (runner === undefined) throw new Error('no database is open');
  switch (kind) {
    case ASK.run:
      return runner.run(questionOf<RunQuestion<QueryDefinition>>(body));
    case ASK.judge:
      return runner.judge(questionOf<JudgeQuestion>(body));
    case ASK_PROBE:
      return runner.probe(questionOf<ProbeQuestion>(body));
    case ASK.read:
      return runner.read(questionOf<ReadQuestion>(body));
    default:
      throw new Error(`there is no question of kind ${kind}`);
  }
}

function questionOf<Question>(body: Buffer): Question {
  const question: Question = JSON.parse(body.toString('utf8'));
  return question;
}

function jsonBody(value: unknown): Buffer {
  return Buffer.from(JSON.stringify(value));
}
