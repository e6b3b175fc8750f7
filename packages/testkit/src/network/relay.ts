import type { Socket } from 'node:net';

/** One direction of a proxied connection. */
export interface Relay {
  set(condition: RelayCondition): void;
  close(): void;
}

interface RelayCondition {
  readonly delayMs: number;
  readonly stalled: boolean;
  /** How fast bytes leave; Infinity for no limit. */
  readonly bytesPerSecond: number;
}

interface Piece {
  readonly dueAt: number;
  /** Undefined: the sender has finished. */
  readonly data: Buffer | undefined;
}

/** Beyond this the sender is no longer read, so that its writes wait as they would on a network. */
const maxHeldBytes = 4 * 1024 * 1024;
/** The same for a slow line: as much as a router would hold; the rest waits at the sender. */
const maxHeldSlowBytes = 64 * 1024;
const slowPieceBytes = 4096;

/** Carries what `from` sends over to `to`, in order, each piece when its delay is over. */
export function createRelay(from: Socket, to: Socket): Relay {
  const pieces: Piece[] = [];
  let condition: RelayCondition = { delayMs: 0, stalled: false, bytesPerSecond: Infinity };
  let heldBytes = 0;
  let timer: NodeJS.Timeout | undefined;
  let blocked = false;
  let lineFreeAt = 0;

  const post = (data: Buffer | undefined): void => {
    const dueAt = performance.now() + condition.delayMs;
    const pieceBytes = condition.bytesPerSecond === Infinity ? Infinity : slowPieceBytes;
    if (data === undefined) pieces.push({ dueAt, data });
    else {
      for (let at = 0; at < data.length; at += pieceBytes)
        pieces.push({ dueAt, data: data.subarray(at, at + pieceBytes) });
      heldBytes += data.length;
    }
    deliver();
  };
  const deliver = (): void => {
    clearTimeout(timer);
    timer = undefined;
    while (!condition.stalled && !blocked) {
      const piece = pieces[0];
      if (piece === undefined) break;
      const waitMs = Math.max(piece.dueAt, lineFreeAt) - performance.now();
      if (waitMs > 0) {
        timer = setTimeout(deliver, Math.ceil(waitMs));
        break;
      }
      pieces.shift();
      if (piece.data === undefined) {
        to.end();
      } else {
        heldBytes -= piece.data.length;
        const transferMs = (1000 * piece.data.length) / condition.bytesPerSecond;
        lineFreeAt = Math.max(lineFreeAt, performance.now()) + transferMs;
        blocked = !to.write(piece.data);
      }
    }
    if (heldBytes > (condition.bytesPerSecond === Infinity ? maxHeldBytes : maxHeldSlowBytes)) from.pause();
    else if (from.isPaused()) from.resume();
  };

  from.on('data', post);
  from.on('end', () => post(undefined));
  to.on('drain', () => {
    blocked = false;
    deliver();
  });
  return {
    set: (next) => {
      condition = next;
      deliver();
    },
    close: () => {
      clearTimeout(timer);
      pieces.length = 0;
    },
  };
}
