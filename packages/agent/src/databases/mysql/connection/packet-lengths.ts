import { DatabaseError } from '../../driver/errors.ts';
import { MESSAGE_MAX_BYTES } from '../../sessions/answer-bounds.ts';

/** Of its length and its number. */
const HEAD_BYTES = 4;
/** A packet of this length is continued by the next. */
const FULL_BYTES = 0xff_ffff;
const LOGIN_MAX_BYTES = 1_048_576;
/** What a packet costs beside its bytes where the library keeps what it makes of each. */
const PACKET_COST_BYTES = 64;

/** Reads the length of each packet as it arrives, before the library keeps what the length announces. */
export class PacketLengths {
  #left = LOGIN_MAX_BYTES;
  #cost = PACKET_COST_BYTES;
  /** What is still to come of the present packet. */
  #body = 0;
  /** How much of a head has come, and the length in it so far. */
  #headBytes = 0;
  #length = 0;
  /** Of the present message, which packets that are full continue. */
  #joined = 0;
  #isContinued = false;

  /** The next answer is one to a question of the agent's own. */
  expectOwn(): void {
    this.#left = MESSAGE_MAX_BYTES;
    this.#cost = PACKET_COST_BYTES;
  }

  /** The next answer is a result of at most this many bytes, whose rows are taken as they come. */
  expectResult(bytes: number): void {
    this.#left = bytes;
    this.#cost = 0;
  }

  get isBetweenPackets(): boolean {
    return this.#body === 0 && this.#headBytes === 0;
  }

  /** Throws `DatabaseError` for a packet that is longer than what may come. */
  check(chunk: Buffer): void {
    let at = 0;
    while (at < chunk.length) {
      if (this.#body > 0) {
        const taken = Math.min(this.#body, chunk.length - at);
        this.#body -= taken;
        at += taken;
      } else if (this.#headBytes === 0 && chunk.length - at >= HEAD_BYTES) {
        this.#begin((chunk[at] ?? 0) | ((chunk[at + 1] ?? 0) << 8) | ((chunk[at + 2] ?? 0) << 16));
        at += HEAD_BYTES;
      } else {
        this.#addHeadByte(chunk.readUInt8(at));
        at += 1;
      }
    }
  }

  #addHeadByte(byte: number): void {
    if (this.#headBytes < 3) this.#length += byte * 256 ** this.#headBytes;
    this.#headBytes += 1;
    if (this.#headBytes < HEAD_BYTES) return;
    const length = this.#length;
    this.#headBytes = 0;
    this.#length = 0;
    this.#begin(length);
  }

  #begin(length: number): void {
    if (length === 0 && !this.#isContinued)
      throw new DatabaseError('unavailable', 'the server has sent an empty packet');
    this.#joined = this.#isContinued ? this.#joined + length : length;
    this.#isContinued = length === FULL_BYTES;
    if (this.#joined > MESSAGE_MAX_BYTES) {
      const text = `the server has sent a message of more than ${MESSAGE_MAX_BYTES} bytes`;
      throw new DatabaseError('too_large', text);
    }
    this.#left -= HEAD_BYTES + length + this.#cost;
    if (this.#left < 0) {
      throw new DatabaseError(
        'too_large',
        'the server has sent a longer answer than any to what it was asked',
      );
    }
    this.#body = length;
  }
}
