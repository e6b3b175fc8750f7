import type { Socket } from 'node:net';

/** One direction of a proxied connection. */
export interface Lane {
  set(condition: LaneCondition): void;
  close(): void;
}

interface LaneCondition {
  readonly delayMs: number;
  readonly stalled: boolean;
  /** How fast bytes leave; Infinity for no limit. */
  readonly bytesPerSecond: number;
}

interface Parcel {
  readonly dueAt: number;
  /** Undefined: the sender has finished. */
  readonly data: Buffer | undefined;
}

/** Past this the sender is no longer read, so that it feels the jam as it would on a network. */
const maxHeldBytes = 4 * 1024 * 1024;
/** Of a slow line: what its router would hold, so that what waits longer waits at the sender. */
const maxHeldSlowBytes = 64 * 1024;
const slowPieceBytes = 4096;

/** Carries what `from` sends over to `to`, in order, each piece when its delay is over. */
export function createLane(from: Socket, to: Socket): Lane {
  const parcels: Parcel[] = [];
  let condition: LaneCondition = { delayMs: 0, stalled: false, bytesPerSecond: Infinity };
  let heldBytes = 0;
  let timer: NodeJS.Timeout | undefined;
  let blocked = false;
  let lineFreeAt = 0;

  const post = (data: Buffer | undefined): void => {
    const dueAt = performance.now() + condition.delayMs;
    const pieceBytes = condition.bytesPerSecond === Infinity ? Infinity : slowPieceBytes;
    if (data === undefined) parcels.push({ dueAt, data });
    else {
      for (let at = 0; at < data.length; at += pieceBytes)
        parcels.push({ dueAt, data: data.subarray(at, at + pieceBytes) });
      heldBytes += data.length;
    }
    deliver();
  };
  const deliver = (): void => {
    clearTimeout(timer);
    timer = undefined;
    while (!condition.stalled && !blocked) {
      const parcel = parcels[0];
      if (parcel === undefined) break;
      const waitMs = Math.max(parcel.dueAt, lineFreeAt) - performance.now();
      if (waitMs > 0) {
        timer = setTimeout(deliver, Math.ceil(waitMs));
        break;
      }
      parcels.shift();
      if (parcel.data === undefined) {
        to.end();
      } else {
        heldBytes -= parcel.data.length;
        const transferMs = (1000 * parcel.data.length) / condition.bytesPerSecond;
        lineFreeAt = Math.max(lineFreeAt, performance.now()) + transferMs;
        blocked = !to.write(parcel.data);
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
      parcels.length = 0;
    },
  };
}
