import { CLOSE, ProtocolError } from '../rules/close-code.ts';
import { MESSAGE_MAX_BYTES } from '../rules/limits.ts';
import type { LinkSocket } from './link.ts';

/** What is used of a stream of Node.js, or of a socket. */
export interface LocalStream {
  cork(): void;
  uncork(): void;
  write(data: Buffer, sent?: () => void): unknown;
  end(): unknown;
  destroy(): unknown;
  on(event: 'data', listener: (chunk: Buffer) => void): unknown;
  on(event: 'error' | 'close', listener: () => void): unknown;
}

/** Before each message: how many bytes it has, big-endian. */
const LENGTH_BYTES = 4;
/** Up to here one write of a copy costs less than a write of two buffers. */
const COPIED_MAX_BYTES = 16_384;

/**
 * What a link, or whoever else has whole messages to send, needs of a stream between two processes of one machine. There
 * is no closing handshake: whoever closes ends the stream, and neither code nor reason travel.
 */
export function localSocket(stream: LocalStream): LinkSocket {
  let gathering = false;

  function uncork(): void {
    gathering = false;
    stream.uncork();
  }

  return {
    send(message, sent) {
      // What is sent in one turn leaves in one write.
      if (!gathering) {
        gathering = true;
        stream.cork();
        process.nextTick(uncork);
      }
      if (message.length <= COPIED_MAX_BYTES) {
        const framed = Buffer.allocUnsafe(LENGTH_BYTES + message.length);
        framed.writeUInt32BE(message.length, 0);
        framed.set(message, LENGTH_BYTES);
        stream.write(framed, sent);
        return;
      }
      const length = Buffer.allocUnsafe(LENGTH_BYTES);
      length.writeUInt32BE(message.length, 0);
      stream.write(length);
      stream.write(message, sent);
    },
    close: () => stream.end(),
    terminate: () => stream.destroy(),
  };
}

/**
 * Hands on each message that arrives over such a stream, until it has closed. A length that no message has ends it.
 * `onClosed` is called once; its reason is fit for a log.
 */
export function receiveMessages(
  stream: LocalStream,
  onMessage: (message: Buffer) => void,
  onClosed: (reason: string) => void,
): void {
  const read = createMessageReader(onMessage);
  let reason = 'connection lost';
  stream.on('data', (chunk: Buffer) => {
    try {
      read(chunk);
    } catch (error) {
      if (!(error instanceof ProtocolError)) throw error;
      reason = error.message;
      stream.destroy();
    }
  });
  // 'close' follows.
  stream.on('error', () => {});
  stream.on('close', () => onClosed(reason));
}

/**
 * Cuts what arrives into messages, whatever the pieces. A message that came in one piece is a view into it, so nothing of
 * a piece may be written to. Throws ProtocolError for a length that no message has; nothing may be read after that.
 */
export function createMessageReader(onMessage: (message: Buffer) => void): (chunk: Buffer) => void {
  const length = Buffer.alloc(LENGTH_BYTES);
  let lengthBytes = 0;
  /** What has arrived of a message that is not complete. */
  let begun: Buffer | undefined;
  let begunBytes = 0;

  return (chunk) => {
    let at = 0;
    while (at < chunk.length) {
      if (begun === undefined) {
        const taken = chunk.copy(length, lengthBytes, at, at + LENGTH_BYTES - lengthBytes);
        at += taken;
        lengthBytes += taken;
        if (lengthBytes < LENGTH_BYTES) return;
        lengthBytes = 0;
        const bytes = length.readUInt32BE(0);
        if (bytes === 0 || bytes > MESSAGE_MAX_BYTES)
          throw new ProtocolError(`a message cannot have ${bytes} bytes`, CLOSE.protocol_error);
        if (chunk.length - at >= bytes) {
          at += bytes;
          onMessage(chunk.subarray(at - bytes, at));
          continue;
        }
        begun = Buffer.allocUnsafeSlow(bytes);
        begunBytes = 0;
      }
      const taken = chunk.copy(begun, begunBytes, at);
      at += taken;
      begunBytes += taken;
      if (begunBytes < begun.length) return;
      const message = begun;
      begun = undefined;
      onMessage(message);
    }
  };
}
