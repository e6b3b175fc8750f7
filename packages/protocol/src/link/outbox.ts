import { encodeFrame, requestOverhead, RESULT_OVERHEAD, type RequestHead } from '../frames/encode.ts';
import type { Frame, ResultFrame } from '../frames/frame.ts';
import { ProtocolError } from '../close-code.ts';
import { createCallTable } from './call-table.ts';
import {
  FRAME_HEADER_BYTES,
  FRAME_PAYLOAD_MAX_BYTES,
  INITIAL_CREDIT_BYTES,
  MESSAGE_MAX_BYTES,
} from '../limits.ts';

/** A frame that carries the start of a body; the outbox adds the pieces. */
export type BodyHead = RequestHead | Omit<ResultFrame, 'rows' | 'fin' | 'rowsLength'>;

/**
 * What one side has to say, gathered until the end of the event-loop turn and sent in as few
 * messages as possible. Within a message: control frames, then bodies not yet begun, then the
 * others in turn, each as far as its receiver granted.
 */
export interface Outbox {
  /** Throws RangeError when a field exceeds its bound; nothing is queued then. */
  control(frame: Frame): void;
  /**
   * As `control`. Heads leave in the order of these calls. `gone` is called once, when nothing of the body waits here
   * any more, be it sent or not.
   */
  body(head: BodyHead, bytes: Uint8Array, gone?: () => void): void;
  /** The receiver takes more of that body; unknown ids are bodies already sent. */
  grant(id: number, bytes: number): void;
  /** Forgets what is left of a body; false when its head had not been sent, so nobody knows of it. */
  drop(id: number): boolean;
  /** Nothing is sent from now on. */
  close(): void;
  /** Resolves when all that was said has left for the operating system, or never will. */
  drained(): Promise<void>;
  /** Bytes of bodies that wait here. */
  readonly queuedBytes: number;
  /** Bodies of which a part waits here. */
  readonly queuedBodies: number;
  /** Control frames that wait here: many only when the peer does not read. */
  readonly queuedControls: number;
}

export interface OutboxSocket {
  /** Sends one message; calls back once it has left for the operating system, or failed. */
  send(message: Buffer, sent: () => void): void;
}

/** Few enough that a control frame never waits behind more than this on a slow line. */
const UNSENT_MESSAGES_MAX = 2;
/** A body's first piece, so that many small ones share a message with a large one. */
const FIRST_PIECE_BYTES = 16_384;
/** Left in each message for bodies already begun. */
const CONTINUATION_SHARE_BYTES = 16_384;

interface Outgoing {
  readonly id: number;
  readonly head: BodyHead;
  readonly headBytes: number;
  readonly bytes: Uint8Array;
  readonly gone: (() => void) | undefined;
  sent: number;
  begun: boolean;
  credit: number;
  waiting: boolean;
}

export function createOutbox(socket: OutboxSocket): Outbox {
  const controls: Buffer[] = [];
  /** Of which nothing has been sent. */
  let fresh: Outgoing[] = [];
  /** Of which a part has been sent. */
  const partial = createCallTable<Outgoing>();
  /** Those of them that need not wait for credit, in turn. */
  const begun: Outgoing[] = [];
  const waiters: (() => void)[] = [];
  let queuedPong: Buffer = Buffer.alloc(0);
  let unsentMessages = 0;
  let scheduled = false;
  let closed = false;
  let queuedBytes = 0;

  function schedule(): void {
    if (scheduled || closed || unsentMessages >= UNSENT_MESSAGES_MAX) return;
    scheduled = true;
    setImmediate(flush);
  }

  function flush(): void {
    scheduled = false;
    while (!closed && unsentMessages < UNSENT_MESSAGES_MAX) {
      const message = nextMessage();
      if (message === undefined) return;
      unsentMessages++;
      socket.send(message, onSent);
    }
  }

  function onSent(): void {
    unsentMessages--;
    schedule();
    wakeIfDrained();
  }

  function bodiesLeft(): number {
    return fresh.length + partial.size;
  }

  function isDrained(): boolean {
    return closed || (unsentMessages === 0 && controls.length === 0 && bodiesLeft() === 0);
  }

  function wakeIfDrained(): void {
    if (waiters.length > 0 && isDrained()) for (const wake of waiters.splice(0)) wake();
  }

  function nextMessage(): Buffer | undefined {
    const frames: Buffer[] = [];
    let room = MESSAGE_MAX_BYTES;
    const add = (frame: Buffer): void => {
      frames.push(frame);
      room -= frame.length;
    };
    takeControls(room, add);
    const share = begun.length > 0 ? CONTINUATION_SHARE_BYTES : 0;
    let taken = 0;
    for (const outgoing of fresh) {
      if (outgoing.headBytes >= room - share) break;
      add(nextPiece(outgoing, Math.min(room - share, outgoing.headBytes + FIRST_PIECE_BYTES)));
      taken++;
      if (outgoing.sent < outgoing.bytes.length) partial.add(outgoing.id, outgoing);
      enqueue(outgoing);
    }
    fresh = taken === fresh.length ? [] : fresh.slice(taken);
    while (begun[0] !== undefined && room > FRAME_HEADER_BYTES) {
      add(nextPiece(begun[0], room));
      const outgoing = begun.shift();
      if (outgoing !== undefined) enqueue(outgoing);
    }
    if (frames.length < 2) return frames[0];
    return Buffer.concat(frames, MESSAGE_MAX_BYTES - room);
  }

  function takeControls(room: number, add: (frame: Buffer) => void): void {
    let left = room;
    let taken = 0;
    for (const frame of controls) {
      if (frame.length > left) break;
      add(frame);
      left -= frame.length;
      taken++;
    }
    controls.splice(0, taken);
  }

  /** The next frame of a body, at most `room` bytes long; `room` holds the head and some of the body. */
  function nextPiece(outgoing: Outgoing, room: number): Buffer {
    const { bytes, head, headBytes } = outgoing;
    const overhead = outgoing.begun ? FRAME_HEADER_BYTES : headBytes;
    const size = Math.min(
      bytes.length - outgoing.sent,
      outgoing.credit,
      room - overhead,
      FRAME_PAYLOAD_MAX_BYTES + FRAME_HEADER_BYTES - overhead,
    );
    const piece = bytes.subarray(outgoing.sent, outgoing.sent + size);
    outgoing.sent += size;
    outgoing.credit -= size;
    queuedBytes -= size;
    const fin = outgoing.sent === bytes.length;
    if (outgoing.begun) return encodeFrame({ type: 'data', id: outgoing.id, bytes: piece, fin });
    outgoing.begun = true;
    return head.type === 'request'
      ? encodeFrame({ paramsLength: bytes.length, params: piece, fin, ...head })
      : encodeFrame({ rowsLength: bytes.length, rows: piece, fin, ...head });
  }

  /** Where a body with pieces left waits: for its turn, or for credit. */
  function enqueue(outgoing: Outgoing): void {
    if (outgoing.sent === outgoing.bytes.length) {
      partial.delete(outgoing.id);
      outgoing.gone?.();
      return;
    }
    outgoing.waiting = outgoing.credit === 0;
    if (!outgoing.waiting) begun.push(outgoing);
  }

  function find(id: number): Outgoing | undefined {
    return partial.get(id) ?? fresh.find((outgoing) => outgoing.id === id);
  }

  function remove<T>(list: T[], item: T): void {
    const index = list.indexOf(item);
    if (index >= 0) list.splice(index, 1);
  }

  return {
    control(frame) {
      if (closed) return;
      const encoded = encodeFrame(frame);
      // A peer that pings and never reads must not fill our memory: one pong answers all.
      if (frame.type === 'pong') remove(controls, queuedPong);
      if (frame.type === 'pong') queuedPong = encoded;
      controls.push(encoded);
      schedule();
    },
    body(head, bytes, gone) {
      if (closed) {
        gone?.();
        return;
      }
      const headBytes = head.type === 'request' ? requestOverhead(head) : RESULT_OVERHEAD;
      const outgoing: Outgoing = {
        id: head.id,
        head,
        headBytes,
        bytes,
        gone,
        sent: 0,
        begun: false,
        credit: INITIAL_CREDIT_BYTES,
        waiting: false,
      };
      fresh.push(outgoing);
      queuedBytes += bytes.length;
      schedule();
    },
    grant(id, bytes) {
      const outgoing = find(id);
      if (outgoing === undefined) return;
      outgoing.credit += bytes;
      if (outgoing.credit > 0xffff_ffff) throw new ProtocolError('credit exceeds what a body can hold');
      if (!outgoing.waiting) return;
      outgoing.waiting = false;
      begun.push(outgoing);
      schedule();
    },
    drop(id) {
      const outgoing = find(id);
      if (outgoing === undefined) return true;
      partial.delete(id);
      queuedBytes -= outgoing.bytes.length - outgoing.sent;
      remove(fresh, outgoing);
      remove(begun, outgoing);
      wakeIfDrained();
      outgoing.gone?.();
      return outgoing.begun;
    },
    close() {
      closed = true;
      controls.length = 0;
      const left = [...fresh, ...partial.entries().map(([, outgoing]) => outgoing)];
      for (const { id } of left) partial.delete(id);
      fresh = [];
      begun.length = 0;
      queuedBytes = 0;
      wakeIfDrained();
      for (const { gone } of left) gone?.();
    },
    async drained() {
      if (!isDrained()) await new Promise<void>((resolve) => waiters.push(resolve));
    },
    get queuedBytes() {
      return queuedBytes;
    },
    get queuedBodies() {
      return bodiesLeft();
    },
    get queuedControls() {
      return controls.length;
    },
  };
}
