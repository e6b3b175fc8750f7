import type { Socket } from 'node:net';

/** One direction of a proxied connection. */
export interface Lane {
  set(condition: { readonly delayMs: number; readonly stalled: boolean }): void;
  close(): void;
}

interface Parcel {
  readonly dueAt: number;
  /** Undefined: the sender has finished. */
  readonly data: Buffer | undefined;
}

/** Past this the sender is no longer read, so that it feels the jam as it would on a network. */
const maxHeldBytes = 4 * 1024 * 1024;

/** Carries what `from` sends over to `to`, in order, each piece when its delay is over. */
export function createLane(from: Socket, to: Socket): Lane {
  const parcels: Parcel[] = [];
  let condition = { delayMs: 0, stalled: false };
  let heldBytes = 0;
  let timer: NodeJS.Timeout | undefined;
  let blocked = false;

  const post = (data: Buffer | undefined): void => {
    parcels.push({ dueAt: performance.now() + condition.delayMs, data });
    heldBytes += data?.length ?? 0;
    deliver();
  };
  const deliver = (): void => {
    clearTimeout(timer);
    timer = undefined;
    while (!condition.stalled && !blocked) {
      const parcel = parcels[0];
      if (parcel === undefined) break;
      const waitMs = parcel.dueAt - performance.now();
      if (waitMs > 0) {
        timer = setTimeout(deliver, Math.ceil(waitMs));
        break;
      }
      parcels.shift();
      if (parcel.data === undefined) {
        to.end();
      } else {
        heldBytes -= parcel.data.length;
        blocked = !to.write(parcel.data);
      }
    }
    if (heldBytes > maxHeldBytes) from.pause();
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
