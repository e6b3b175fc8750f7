import { DatabaseError } from '../../driver/errors.ts';
import { MESSAGE_MAX_BYTES } from '../../sessions/answer-bounds.ts';

/** The bytes of its length and its number. */
const HEAD_BYTES = 4;
/** The next packet continues a packet of this length. */
const FULL_BYTES = 0xff_ffff;
const LOGIN_MAX_BYTES = 1_048_576;
/** The memory beside its bytes of a packet that the library keeps. */
const PACKET_COST_BYTES = 64;

/** Checks the length of each packet on arrival, before the library reserves memory for it. */
export class PacketLengths {
  #left = LOGIN_MAX_BYTES;
  #cost = PACKET_COST_BYTES;
  /** The missing bytes of the current packet. */
  #body = 0;
  /** The bytes of a head that have arrived, and the length in them so far. */
  #headBytes = 0;
  #length = 0;
  /** The length of the current message, which may span several packets. */
  #joined = 0;
  #isContinued = false;

  /** The next answer is to a question of the driver. */
  expectOwn(): void {
    this.#left = MESSAGE_MAX_BYTES;
    this.#cost = PACKET_COST_BYTES;
  }

  /** The next answer is a result of at most this many bytes. Its rows are not kept. */
  expectResult(bytes: number): void {
    this.#left = bytes;
    this.#cost = 0;
  }

  get isBetweenPackets(): boolean {
    return this.#body === 0 && this.#headBytes === 0;
  }

  /** Throws `DatabaseError` for a packet that is too long. */
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
