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

/** Of its code and its length. */
const HEAD_BYTES = 5;
/** What a message costs beside its bytes: a server may send many that have hardly any. */
const MESSAGE_COST_BYTES = 64;
/** For the login, and for what a server says to a session that waits for no answer. */
const UNASKED_MAX_BYTES = 1_048_576;

const NOTHING = Buffer.alloc(0);

/**
 * Reads what a server sends before the library does. The library keeps whatever a message's length announces, throws for
 * some messages that it cannot read, and never returns from others.
 */
export class MessageReader {
  readonly #give: (messages: Buffer) => void;
  readonly #expected: number[] = [];
  #left = UNASKED_MAX_BYTES;
  #asidesLeft = MESSAGE_MAX_BYTES;
  #isLoggedIn = false;
  readonly #authentications = new Set<number>();
  /** The first bytes of a head. */
  #rest: Buffer = NOTHING;
  /** A message that has come in part, and how much of it. */
  #partial: Buffer | undefined;
  #filled = 0;

  /** `give` gets whole messages that `checkMessage` has passed, one or several at a time. */
  constructor(give: (messages: Buffer) => void) {
    this.#give = give;
  }

  /** Throws `DatabaseError` for what no server sends in answer to the agent. The connection is then of no more use. */
  read(chunk: Buffer): void {
    const bytes = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk]);
    this.#rest = NOTHING;
    const start = this.#partial === undefined ? 0 : this.#fill(this.#partial, bytes);
    let at = start;
    while (at + HEAD_BYTES <= bytes.length) {
      const length = readUint32(bytes, at + 1);
      this.#count(bytes[at] ?? 0, length);
      const end = at + 1 + length;
      if (end > bytes.length) {
        this.#partial = Buffer.allocUnsafe(1 + length);
        this.#filled = 0;
        break;
      }
      this.#check(bytes, at, end);
      at = end;
    }
    if (at > start) this.#give(bytes.subarray(start, at));
    if (this.#partial !== undefined) this.#filled += bytes.copy(this.#partial, this.#filled, at);
    else this.#rest = bytes.subarray(at);
  }

  /** Another batch of statements was sent, whose answers up to ReadyForQuery may have so many bytes. */
  expect(most: number): void {
    this.#expected.push(most);
    if (this.#expected.length === 1) this.#left = most;
  }

  #count(code: number, length: number): void {
    if (length + 1 > MESSAGE_MAX_BYTES) {
      throw malformed(`a message of ${length + 1} bytes, and at most ${MESSAGE_MAX_BYTES} are read`);
    }
    const cost = length + 1 + MESSAGE_COST_BYTES;
    if (isAside(code)) this.#asidesLeft -= cost;
    else this.#left -= cost;
    if (this.#left < 0) throw malformed('a longer answer than any to what it was asked');
    if (this.#asidesLeft < 0) throw malformed(`notices of more than ${MESSAGE_MAX_BYTES} bytes`);
  }

  #check(bytes: Buffer, at: number, end: number): void {
    const code = bytes[at] ?? 0;
    const authentications = this.#isLoggedIn ? undefined : this.#authentications;
    const problem = checkMessage(code, bytes, at + HEAD_BYTES, end, authentications);
    if (problem !== undefined) throw malformed(problem);
    if (code !== READY_FOR_QUERY) return;
    this.#isLoggedIn = true;
    this.#expected.shift();
    this.#left = this.#expected[0] ?? UNASKED_MAX_BYTES;
    this.#asidesLeft = MESSAGE_MAX_BYTES;
  }

  /** Returns how much it took. */
  #fill(message: Buffer, bytes: Buffer): number {
    const taken = bytes.copy(message, this.#filled);
    this.#filled += taken;
    if (this.#filled < message.length) return taken;
    this.#partial = undefined;
    this.#check(message, 0, message.length);
    this.#give(message);
    return taken;
  }
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
