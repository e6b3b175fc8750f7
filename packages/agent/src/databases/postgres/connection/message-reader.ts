import { DatabaseError } from '../../driver/errors.ts';
import { MESSAGE_MAX_BYTES } from '../../sessions/answer-bounds.ts';
import {
  checkMessage,
  NOTICE,
  NOTIFICATION,
  PARAMETER_STATUS,
  READY_FOR_QUERY,
  readUint32,
} from './check-message.ts';

/**
 * Reads what a server sends before the library does. The library keeps whatever a message's length announces, throws for
 * some messages that it cannot read, and never returns from others.
 */
export interface MessageReader {
  /** Throws `DatabaseError` for what no server sends in answer to the agent. The connection is then of no more use. */
  read(chunk: Buffer): void;
  /** Another batch of statements was sent, whose answers up to ReadyForQuery may have so many bytes. */
  expect(bytes: number): void;
}

/** Of its code and its length. */
const HEAD_BYTES = 5;
/** What a message costs beside its bytes: a server may send many that have hardly any. */
const MESSAGE_COST_BYTES = 64;
/** For the login, and for what a server says to a session that waits for no answer. */
const UNASKED_MAX_BYTES = 1_048_576;

const NOTHING = Buffer.alloc(0);

/** `give` gets whole messages that `checkMessage` has passed, one or several at a time. */
export function createMessageReader(give: (messages: Buffer) => void): MessageReader {
  const expected: number[] = [];
  let left = UNASKED_MAX_BYTES;
  let asidesLeft = MESSAGE_MAX_BYTES;
  let isLoggedIn = false;
  const authentications = new Set<number>();
  /** The first bytes of a head. */
  let rest: Buffer = NOTHING;
  /** A message that has come in part, and how much of it. */
  let partial: Buffer | undefined;
  let filled = 0;

  function count(code: number, length: number): void {
    if (length + 1 > MESSAGE_MAX_BYTES) {
      throw malformed(`a message of ${length + 1} bytes, and at most ${MESSAGE_MAX_BYTES} are read`);
    }
    const cost = length + 1 + MESSAGE_COST_BYTES;
    if (isAside(code)) asidesLeft -= cost;
    else left -= cost;
    if (left < 0) throw malformed('a longer answer than any to what it was asked');
    if (asidesLeft < 0) throw malformed(`notices of more than ${MESSAGE_MAX_BYTES} bytes`);
  }

  function check(bytes: Buffer, at: number, end: number): void {
    const code = bytes[at] ?? 0;
    const problem = checkMessage(code, bytes, at + HEAD_BYTES, end, isLoggedIn ? undefined : authentications);
    if (problem !== undefined) throw malformed(problem);
    if (code !== READY_FOR_QUERY) return;
    isLoggedIn = true;
    expected.shift();
    left = expected[0] ?? UNASKED_MAX_BYTES;
    asidesLeft = MESSAGE_MAX_BYTES;
  }

  /** Returns how much it took. */
  function fill(message: Buffer, bytes: Buffer): number {
    const taken = bytes.copy(message, filled);
    filled += taken;
    if (filled < message.length) return taken;
    partial = undefined;
    check(message, 0, message.length);
    give(message);
    return taken;
  }

  return {
    read(chunk) {
      const bytes = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
      rest = NOTHING;
      const start = partial === undefined ? 0 : fill(partial, bytes);
      let at = start;
      while (at + HEAD_BYTES <= bytes.length) {
        const length = readUint32(bytes, at + 1);
        count(bytes[at] ?? 0, length);
        const end = at + 1 + length;
        if (end > bytes.length) {
          partial = Buffer.allocUnsafe(1 + length);
          filled = 0;
          break;
        }
        check(bytes, at, end);
        at = end;
      }
      if (at > start) give(bytes.subarray(start, at));
      if (partial !== undefined) filled += bytes.copy(partial, filled, at);
      else rest = bytes.subarray(at);
    },
    expect(most) {
      expected.push(most);
      if (expected.length === 1) left = most;
    },
  };
}

/** Whether it is no part of a result. */
function isAside(code: number): boolean {
  return code === NOTICE || code === NOTIFICATION || code === PARAMETER_STATUS;
}

function malformed(what: string): DatabaseError {
  const advice =
    'it does not answer as PostgreSQL does: check host, port and sslmode, and that driver names what runs there';
  return new DatabaseError('unavailable', `the server has sent ${what}`, { advice });
}
