import './ignored-signals.ts';
import { Socket } from 'node:net';
import { Worker } from 'node:worker_threads';
import { createMessageReader } from '../../process-messages/message-reader.ts';
import { createMessageWriter } from '../../process-messages/message-writer.ts';
import { ANSWER, type EngineFailure } from './engine-questions.ts';

/** A question as the child gets it. */
export interface EngineQuestion {
  readonly id: number;
  readonly kind: number;
  readonly body: Buffer;
  /** Call this once, now or later. `body` must not change afterwards. */
  readonly answer: (kind: number, body: Uint8Array) => void;
}

const ID_BYTES = 4;
const PARENT_LOOK_MS = 1000;

/**
 * The child's side: hands it each question, and ends it when the agent closes the pipe or has ended. Answers of one
 * turn of the event loop leave in one write. `exit` ends the process at once.
 */
export function serveEngine(
  take: (question: EngineQuestion) => void,
  exit: () => void = () => process.exit(),
): void {
  const pipe = new Socket({ fd: 3 });
  const writer = createMessageWriter(pipe);
  const read = createMessageReader((kind, fields) => {
    const id = fields.number();
    take({
      id,
      kind,
      body: fields.rest(),
      answer: (answerKind, body) => {
        writer.begin(answerKind, ID_BYTES);
        writer.number(id);
        writer.end(body);
      },
    });
  });
  pipe.on('data', read);
  // The answers of this turn leave at its end.
  pipe.on('end', () => setImmediate(() => pipe.end(exit)));
  pipe.on('error', exit);
}

export function questionOf<Question>({ body }: EngineQuestion): Question {
  const question: Question = JSON.parse(body.toString('utf8'));
  return question;
}

/** Answers with the rows of a run, or with JSON. */
export function reply({ answer }: EngineQuestion, outcome: unknown): void {
  if (outcome instanceof Uint8Array) answer(ANSWER.rows, outcome);
  else answer(ANSWER.json, Buffer.from(JSON.stringify(outcome)));
}

export function replyFailed({ answer }: EngineQuestion, failure: EngineFailure): void {
  answer(ANSWER.failed, Buffer.from(JSON.stringify(failure)));
}

/**
 * Ends this process when the agent has ended, even while its engine blocks the main thread: a killed agent cannot end
 * it, and a query may never end.
 */
export function endWithParent(): void {
  const code = `setInterval(() => {
    if (process.ppid !== ${process.ppid}) process.kill(process.pid, 'SIGKILL');
  }, ${PARENT_LOOK_MS});`;
  new Worker(code, { eval: true }).unref();
}
