import {
  INITIAL_CREDIT_BYTES,
  ProtocolError,
  type CursorFrame,
  type DataFrame,
  type ResultFrame,
} from '@svc/protocol';
import type { AgentOutcome, AgentResult } from './callable-link.ts';

/** Receives the answer to a call of another process. */
export interface RelayedAnswer {
  /** The next frame of the result, with the id that the call has at the agent. */
  forward(frame: ResultFrame | DataFrame): void;
  /** Called before `forward`, if at all. */
  cursor(frame: CursorFrame): void;
  /** Called instead of `forward`, or in place of the rest of the result. */
  fail(outcome: Exclude<AgentOutcome, AgentResult>): void;
}

/** The answer to one call of another process. It is checked here, where the agent is known, and not kept. */
export interface AnswerRelay {
  /** Whether a part of a result has been passed on. */
  readonly begun: boolean;
  /** Returns whether it was the last frame. */
  add(frame: ResultFrame | DataFrame): boolean;
  addCursor(frame: CursorFrame): void;
  /** The agent may send so many bytes more. */
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
    addCursor: (frame) => answer.cursor(frame),
    grant(bytes) {
      credit += bytes;
    },
  };
}
