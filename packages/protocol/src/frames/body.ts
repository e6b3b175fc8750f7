import { ProtocolError } from '../close-code.ts';

/** A body that arrives in pieces, checked against the length that its first frame announced. */
export interface Body {
  /** Takes the next piece; true when the body is complete. Throws ProtocolError when the sums disagree. */
  add(piece: Uint8Array, fin: boolean): boolean;
  /** The whole body; only meaningful once complete. */
  readonly bytes: Uint8Array;
  /** Bytes announced but not yet received. */
  readonly missing: number;
}

export function receiveBody(totalBytes: number): Body {
  let bytes: Uint8Array = EMPTY;
  let received = 0;
  return {
    add(piece, fin) {
      if (piece.length > totalBytes - received) throw new ProtocolError('body is longer than announced');
      if (fin !== (received + piece.length === totalBytes)) {
        throw new ProtocolError('end of body disagrees with its length');
      }
      if (received === 0 && fin) {
        bytes = piece;
      } else {
        // Memory follows what arrives, not what was announced: one byte must not cost 64 MiB.
        if (bytes.length < received + piece.length) bytes = grow(bytes, received + piece.length, totalBytes);
        bytes.set(piece, received);
      }
      received += piece.length;
      return fin;
    },
    get bytes() {
      return bytes;
    },
    get missing() {
      return totalBytes - received;
    },
  };
}

const EMPTY = new Uint8Array(0);

/** Doubles, so that memory follows what has arrived and not what was announced. */
function grow(old: Uint8Array, needed: number, totalBytes: number): Uint8Array {
  const bigger = Buffer.allocUnsafe(Math.min(totalBytes, Math.max(needed, old.length * 2)));
  bigger.set(old);
  return bigger;
}
