import { HEAD_BYTES } from './message-writer.ts';

/** The fields of a message, to be read in their order, before the next message comes. */
export interface MessageFields {
  byte(): number;
  short(): number;
  number(): number;
  text(): string;
  /** All other bytes; they may share their memory with other messages. */
  rest(): Buffer;
}

const NOTHING = Buffer.alloc(0);

/** Reads the messages of a `MessageWriter` from pieces of a stream. `checkLength` is called before memory is allocated. */
export function createMessageReader(
  onMessage: (kind: number, fields: MessageFields) => void,
  checkLength: (bytes: number) => void = () => {},
): (piece: Buffer) => void {
  /** The present message, without its head. */
  let body: Buffer = NOTHING;
  let read = 0;
  /** The beginning of an incomplete head. */
  let rest: Buffer = NOTHING;
  /** An incomplete message, and how much of its body has come. */
  let partial: { readonly kind: number; readonly body: Buffer } | undefined;
  let filled = 0;

  // One object for all messages: each call has two.
  const fields: MessageFields = {
    byte() {
      read += 1;
      return body.readUInt8(read - 1);
    },
    short() {
      read += 2;
      return body.readUInt16BE(read - 2);
    },
    number() {
      read += 4;
      return body.readUInt32BE(read - 4);
    },
    text() {
      const from = read + 4;
      read = from + body.readUInt32BE(read);
      return body.toString('utf8', from, read);
    },
    rest: () => body.subarray(read),
  };

  function give(kind: number, bytes: Buffer): void {
    body = bytes;
    read = 0;
    onMessage(kind, fields);
    body = NOTHING;
  }

  /** Returns how many bytes it took. */
  function fill(piece: Buffer, message: NonNullable<typeof partial>): number {
    const taken = piece.copy(message.body, filled);
    filled += taken;
    if (filled === message.body.length) {
      partial = undefined;
      give(message.kind, message.body);
    }
    return taken;
  }

  return (piece) => {
    const bytes = rest.length === 0 ? piece : Buffer.concat([rest, piece]);
    rest = NOTHING;
    let at = partial === undefined ? 0 : fill(bytes, partial);
    while (at < bytes.length) {
      if (bytes.length - at < HEAD_BYTES) {
        rest = bytes.subarray(at);
        return;
      }
      const length = bytes.readUInt32BE(at) - 1;
      checkLength(length);
      const kind = bytes.readUInt8(at + HEAD_BYTES - 1);
      at += HEAD_BYTES;
      if (length <= bytes.length - at) {
        give(kind, bytes.subarray(at, at + length));
        at += length;
        continue;
      }
      partial = { kind, body: Buffer.allocUnsafe(length) };
      filled = 0;
      at += fill(bytes.subarray(at), partial);
    }
  };
}
