/** Bounds of one answer in addition to its bytes, since elements, levels and pieces also cost time and memory. */
const MAX_ELEMENTS = 65_536;
const MAX_DEPTH = 8;
const MAX_READS = 16_384;
const MAX_NUMBER_BYTES = 32;
/** A message of a channel is a few words and a key id. */
const MAX_PUSH_BYTES = 4096;
const LINE_END_BYTES = 2;

const CR = 0x0d;
const LF = 0x0a;
const DIGIT_0 = 0x30;
const STRING = 0x24;
const NUMBER = 0x3a;
const NULL = 0x5f;
const ARRAY = 0x2a;
const MAP = 0x25;
const PUSH = 0x3e;
const TEXT = 0x2b;
const ERROR = 0x2d;
const TYPES: ReadonlySet<number> = new Set([STRING, NUMBER, NULL, ARRAY, MAP, PUSH, TEXT, ERROR]);

/**
 * Reads what Valkey sends before the library does. The library keeps whatever arrives and makes arrays of any announced
 * length, and some input that is no answer to the gateway's commands keeps it busy for hours or forever.
 */
export class AnswerScan {
  readonly #maxBytes: number;
  #isWithin = false;
  /** Of the present answer. */
  #isPush = false;
  #bytes = 0;
  #reads = 0;
  #elements = 0;
  /** How many elements each open array or map still lacks. */
  readonly #open: number[] = [];
  /** The present line: its type, or 0 before that has arrived, and the length read so far. */
  #type = 0;
  #lineBytes = 0;
  #length = 0;
  #isLineEnding = false;
  /** Bytes that a string still lacks, including its line end. */
  #body = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** Throws for input that is no answer to `asked` commands. The connection is then unusable. */
  check(chunk: Buffer, asked: number): void {
    let answers = this.#isWithin && !this.#isPush ? 1 : 0;
    if (this.#isWithin && ++this.#reads > MAX_READS) throw new Error('an answer in too many pieces');
    let at = 0;
    while (at < chunk.length) {
      if (this.#body > 0) {
        const taken = Math.min(this.#body, chunk.length - at);
        at += taken;
        this.#body -= taken;
        if (this.#body === 0) this.#endValue();
      } else {
        const byte = chunk.readUInt8(at++);
        if (!this.#isWithin) {
          this.#begin(byte);
          if (!this.#isPush && ++answers > asked) throw new Error('an answer that was not asked for');
        }
        this.#reserve(1);
        this.#takeByte(byte);
      }
    }
  }

  #begin(type: number): void {
    this.#isWithin = true;
    this.#isPush = type === PUSH;
    this.#bytes = 0;
    this.#reads = 0;
    this.#elements = 0;
  }

  #reserve(bytes: number): void {
    this.#bytes += bytes;
    const most = this.#isPush ? Math.min(MAX_PUSH_BYTES, this.#maxBytes) : this.#maxBytes;
    if (this.#bytes > most) throw new Error(`an answer of more than ${most} bytes`);
  }

  #takeByte(byte: number): void {
    if (this.#type === 0) this.#beginLine(byte);
    else if (this.#isLineEnding) this.#endLine(byte);
    else if (byte === CR) this.#isLineEnding = true;
    else this.#takeLineByte(byte);
  }

  #beginLine(type: number): void {
    if (!TYPES.has(type) || (type === PUSH && this.#open.length > 0)) throw malformed();
    this.#type = type;
    this.#lineBytes = 0;
    this.#length = 0;
  }

  #takeLineByte(byte: number): void {
    const type = this.#type;
    if (type === TEXT || type === ERROR) return;
    this.#lineBytes++;
    if (type === NULL || this.#lineBytes > MAX_NUMBER_BYTES) throw malformed();
    if (type === NUMBER) return;
    const digit = byte - DIGIT_0;
    if (digit < 0 || digit > 9) throw malformed();
    this.#length = this.#length * 10 + digit;
  }

  #endLine(byte: number): void {
    if (byte !== LF) throw malformed();
    const type = this.#type;
    const length = this.#length;
    this.#isLineEnding = false;
    this.#type = 0;
    if (type === STRING) {
      this.#reserve(length + LINE_END_BYTES);
      this.#body = length + LINE_END_BYTES;
    } else if (type === ARRAY || type === PUSH) this.#openArray(length);
    else if (type === MAP) this.#openArray(2 * length);
    else this.#endValue();
  }

  #openArray(length: number): void {
    this.#elements += length;
    if (this.#elements > MAX_ELEMENTS) throw new Error(`an answer of more than ${MAX_ELEMENTS} elements`);
    if (length === 0) {
      this.#endValue();
      return;
    }
    if (this.#open.push(length) > MAX_DEPTH) throw malformed();
  }

  #endValue(): void {
    for (let left = this.#open.pop(); left !== undefined; left = this.#open.pop()) {
      if (left === 1) continue;
      this.#open.push(left - 1);
      return;
    }
    this.#isWithin = false;
  }
}

function malformed(): Error {
  return new Error('an answer that cannot be read');
}
