import { ProtocolError } from '../rules/close-code.ts';

/** A body that arrives in pieces, checked against the length that its first frame announced. */
export interface Body {
  /** Takes the next piece; true when the body is complete. Throws ProtocolError when the sums disagree. */
  add(piece: Uint8Array, fin: boolean): boolean;
  /** What has arrived, in order; it may be cut at other places than it arrived in. */
  readonly pieces: readonly Uint8Array[];
  readonly missing: number;
}

/** Shorter pieces are gathered: so many small ones cost more as objects than as bytes. */
const KEPT_MIN_BYTES = 4096;
/** Gathered bytes become one piece at this length. */
const GATHERED_MAX_BYTES = 65_536;

export function receiveBody(totalBytes: number): Body {
  const pieces: Uint8Array[] = [];
  let gathered: Uint8Array = EMPTY;
  let gatheredBytes = 0;
  let received = 0;

  function gather(piece: Uint8Array): void {
    const needed = gatheredBytes + piece.length;
    if (gathered.length < needed) gathered = grow(gathered, needed, gatheredBytes + totalBytes - received);
    gathered.set(piece, gatheredBytes);
    gatheredBytes = needed;
    if (gatheredBytes >= GATHERED_MAX_BYTES) flush();
  }

  function flush(): void {
    if (gatheredBytes > 0) pieces.push(gathered.subarray(0, gatheredBytes));
    gathered = EMPTY;
    gatheredBytes = 0;
  }

  return {
    add(piece, fin) {
      if (piece.length > totalBytes - received) throw new ProtocolError('body is longer than announced');
      if (fin !== (received + piece.length === totalBytes)) {
        throw new ProtocolError('end of body disagrees with its length');
      }
      if (received === 0 && fin) {
        pieces.push(piece);
      } else if (piece.length >= KEPT_MIN_BYTES && 2 * piece.length >= piece.buffer.byteLength) {
        flush();
        pieces.push(piece);
      } else {
        gather(piece);
      }
      received += piece.length;
      if (fin) flush();
      return fin;
    },
    get pieces() {
      return gatheredBytes === 0 ? pieces : [...pieces, gathered.subarray(0, gatheredBytes)];
    },
    get missing() {
      return totalBytes - received;
    },
  };
}

const EMPTY = new Uint8Array(0);

/** Doubles, so that memory follows what arrives, not what was announced: one byte must not cost 64 MiB. */
function grow(old: Uint8Array, needed: number, most: number): Uint8Array {
  const bigger = Buffer.allocUnsafeSlow(Math.min(most, Math.max(needed, old.length * 2)));
  bigger.set(old);
  return bigger;
}

/** The bytes of all pieces; of a single one without copying it. */
export function joinPieces(pieces: readonly Uint8Array[]): Uint8Array {
  return pieces.length === 1 ? (pieces[0] ?? EMPTY) : Buffer.concat(pieces);
}
