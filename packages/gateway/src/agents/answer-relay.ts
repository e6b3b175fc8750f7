import { INITIAL_CREDIT_BYTES, ProtocolError, type DataFrame, type ResultFrame } from '@svc/protocol';
import type { AgentOutcome, AgentResult } from './callable-link.ts';

/** Where the answer to a call of another process goes. */
export interface RelayedAnswer {
  /** The next frame of the result, under the id that the call has at the agent. With `fin` it is the last. */
  forward(frame: ResultFrame | DataFrame): void;
  /** In place of a result, or of the rest of it. */
  fail(outcome: Exclude<AgentOutcome, AgentResult>): void;
}

/** The answer to one call of another process: judged here, as the agent is known here, and kept nowhere. */
export interface AnswerRelay {
  /** Whether something of a result has been handed on. */
  readonly begun: boolean;
  /** True when it was the last frame. */
  add(frame: ResultFrame | DataFrame): boolean;
  /** What the agent may send beyond what it may already. */
  grant(bytes: number): void;
}

export function createAnswerRelay(answer: RelayedAnswer): AnswerRelay {
  let begun = false;
  let missing = 0;
  let credit = INITIAL_CREDIT_BYTES;

  function take(piece: Uint8Array, fin: boolean): void {
    if (piece.length > missing) throw new ProtocolError('body is longer than announced');
    if (piece.length > credit) throw new ProtocolError('more of a result than was granted');
    missing -= piece.length;
    credit -= piece.length;
    if (fin !== (missing === 0)) throw new ProtocolError('end of body disagrees with its length');
  }

  return {
    get begun() {
      return begun;
    },
    add(frame) {
      if (frame.type === 'result') {
        begun = true;
        missing = frame.rowsLength;
        take(frame.rows, frame.fin);
      } else {
        take(frame.bytes, frame.fin);
      }
      answer.forward(frame);
      return frame.fin;
    },
    grant(bytes) {
      credit += bytes;
    },
  };
}
