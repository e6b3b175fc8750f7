import type { Writable } from 'node:stream';

/** Of the length, which counts what follows it, and of the kind. */
export const HEAD_BYTES = 5;
const LENGTH_BYTES = 4;
const BLOCK_BYTES = 65_536;
const SPARE_BLOCKS_MAX = 4;
/** Longer bytes are written without copying. */
const COPIED_MAX_BYTES = 16_384;

/**
 * Encodes messages, and writes all messages of one turn of the event loop at its end: a write for each would cost more than
 * everything else that a call costs here.
 */
export interface MessageWriter {
  /** Begins a message whose fields take at most this many bytes. No other message may begin before `end`. */
  begin(kind: number, atMost: number): void;
  byte(value: number): void;
  /** 16 bits. */
  short(value: number): void;
  /** 32 bits. */
  number(value: number): void;
  /** With its length; takes 4 bytes, and at most 3 for each character. */
  text(value: string): void;
  /** Ends the message. `rest` does not count for `atMost`, and must not change afterwards. */
  end(rest?: Uint8Array): void;
}

export function createMessageWriter(socket: Writable): MessageWriter {
  const spare: Buffer[] = [];
  let block: Buffer = Buffer.allocUnsafeSlow(BLOCK_BYTES);
  let begun = 0;
  let used = 0;
  let isScheduled = false;

  function flush(): void {
    if (used === 0) return;
    const written = block;
    socket.write(written.subarray(0, used), () => {
      if (written.length === BLOCK_BYTES && spare.length < SPARE_BLOCKS_MAX) spare.push(written);
    });
    block = spare.pop() ?? Buffer.allocUnsafeSlow(BLOCK_BYTES);
    used = 0;
  }

  function flushAtEnd(): void {
    isScheduled = false;
    flush();
  }

  function reserve(bytes: number): void {
    if (used + bytes <= block.length) return;
    flush();
    if (bytes > block.length) block = Buffer.allocUnsafeSlow(bytes);
  }

  return {
    begin(kind, atMost) {
      reserve(HEAD_BYTES + atMost);
      begun = used;
      used = block.writeUInt8(kind, begun + LENGTH_BYTES);
      if (isScheduled) return;
      isScheduled = true;
      setImmediate(flushAtEnd);
    },
    byte(value) {
      used = block.writeUInt8(value, used);
    },
    short(value) {
      used = block.writeUInt16BE(value, used);
    },
    number(value) {
      used = block.writeUInt32BE(value, used);
    },
    text(value) {
      const bytes = block.write(value, used + 4, 'utf8');
      used = block.writeUInt32BE(bytes, used) + bytes;
    },
    end(rest) {
      const bytes = rest?.length ?? 0;
      block.writeUInt32BE(used - begun - LENGTH_BYTES + bytes, begun);
      if (rest === undefined) return;
      if (bytes > COPIED_MAX_BYTES || used + bytes > block.length) {
        flush();
        socket.write(rest);
        return;
      }
      block.set(rest, used);
      used += bytes;
    },
  };
}
