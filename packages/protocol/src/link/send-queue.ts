import {
  RESULT_OVERHEAD,
  encodeFrame,
  requestOverhead,
  writeData,
  writeRequest,
  writeResult,
  type RequestHead,
  type ResultHead,
} from '../frames/encode.ts';
import type { Frame } from '../frames/frame.ts';
import { ProtocolError } from '../rules/close-code.ts';
import { createCallTable } from './call-table.ts';
import { FRAME_HEADER_BYTES, INITIAL_CREDIT_BYTES, type ProtocolVersion } from '../rules/limits.ts';

/** A frame that carries the start of a body; the send queue adds the pieces. */
export type BodyHead = RequestHead | ResultHead;

/**
 * What one side sends, gathered until the end of the event-loop turn and sent in as few
 * messages as possible. Within a message: control frames, then bodies not yet begun, then the
 * others in turn, each as far as its credit reaches.
 */
export interface SendQueue {
  /** Throws RangeError when a field exceeds its bound; nothing is queued then. */
  sendControl(frame: Frame): void;
  /**
   * As `sendControl`. Heads leave in the order of these calls. `onReleased` is called once, when nothing of the body
   * waits here any more, whether it was sent or cancelled.
   */
  sendBody(head: BodyHead, bytes: Uint8Array, onReleased?: () => void): void;
  /** The receiver takes more of that body. Unknown ids are ignored: their bodies were sent already. */
  addCredit(id: number, bytes: number): void;
  /** Forgets what is left of a body; false when its head had not been sent, so that the peer does not know of it. */
  cancelBody(id: number): boolean;
  close(): void;
  /** Resolves when all that was queued has left for the operating system, or never will. */
  drained(): Promise<void>;
  readonly queuedBytes: number;
  /** Bodies of which a part waits here. */
  readonly queuedBodies: number;
  /** Control frames that wait here: many only when the peer does not read. */
  readonly queuedControls: number;
}

export interface SendQueueSocket {
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
  readonly onReleased: (() => void) | undefined;
  sent: number;
  begun: boolean;
  credit: number;
  waiting: boolean;
}

export function createSendQueue(socket: SendQueueSocket, version: ProtocolVersion): SendQueue {
  const controls: Buffer[] = [];
  let fresh: Outgoing[] = [];
  const partial = createCallTable<Outgoing>();
  /** Those of `partial` that have credit, in the order of their turns. */
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
    const draft = writableDraft();
    let end = writeControls(draft);
    const bound = SENT_MESSAGE_MAX_BYTES - (begun.length > 0 ? CONTINUATION_SHARE_BYTES : 0);
    let taken = 0;
    for (const outgoing of fresh) {
      if (end + outgoing.headBytes >= bound) break;
      end = writePiece(draft, end, Math.min(bound, end + outgoing.headBytes + FIRST_PIECE_BYTES), outgoing);
      taken++;
      if (outgoing.sent < outgoing.bytes.length) partial.add(outgoing.id, outgoing);
      enqueue(outgoing);
    }
    if (taken > 0) fresh = taken === fresh.length ? [] : fresh.slice(taken);
    while (begun[0] !== undefined && end + FRAME_HEADER_BYTES < SENT_MESSAGE_MAX_BYTES) {
      end = writePiece(draft, end, SENT_MESSAGE_MAX_BYTES, begun[0]);
      const outgoing = begun.shift();
      if (outgoing !== undefined) enqueue(outgoing);
    }
    return end === 0 ? undefined : takeDraft(end);
  }

  function writeControls(draft: Buffer): number {
    let end = 0;
    let taken = 0;
    for (const frame of controls) {
      if (end + frame.length > SENT_MESSAGE_MAX_BYTES) break;
      draft.set(frame, end);
      end += frame.length;
      taken++;
    }
    if (taken > 0) controls.splice(0, taken);
    return end;
  }

  /** The next frame of a body, from `start` to `bound` at most, which holds the head and some of the body; returns its end. */
  function writePiece(draft: Buffer, start: number, bound: number, outgoing: Outgoing): number {
    const { id, bytes, head, headBytes, sent, begun: isBegun } = outgoing;
    const overhead = isBegun ? FRAME_HEADER_BYTES : headBytes;
    const size = Math.min(bytes.length - sent, outgoing.credit, bound - start - overhead);
    const piece = size === bytes.length ? bytes : bytes.subarray(sent, sent + size);
    const fin = sent + size === bytes.length;
    outgoing.sent += size;
    outgoing.credit -= size;
    queuedBytes -= size;
    if (isBegun) return writeData(draft, start, id, piece, fin);
    outgoing.begun = true;
    return head.type === 'request'
      ? writeRequest(draft, start, head, headBytes, { params: piece, paramsLength: bytes.length, fin })
      : writeResult(draft, start, head, { rows: piece, rowsLength: bytes.length, fin });
  }

  /** Where a body with pieces left waits: for its turn, or for credit. */
  function enqueue(outgoing: Outgoing): void {
    if (outgoing.sent === outgoing.bytes.length) {
      partial.delete(outgoing.id);
      outgoing.onReleased?.();
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
    sendControl(frame) {
      if (closed) return;
      const encoded = encodeFrame(frame, version);
      // A peer that pings and never reads must not fill our memory: one pong answers all.
      if (frame.type === 'pong') remove(controls, queuedPong);
      if (frame.type === 'pong') queuedPong = encoded;
      controls.push(encoded);
      schedule();
    },
    sendBody(head, bytes, onReleased) {
      if (closed) {
        onReleased?.();
        return;
      }
      const headBytes = head.type === 'request' ? requestOverhead(head, version) : RESULT_OVERHEAD;
      const outgoing: Outgoing = {
        id: head.id,
        head,
        headBytes,
        bytes,
        onReleased,
        sent: 0,
        begun: false,
        credit: INITIAL_CREDIT_BYTES,
        waiting: false,
      };
      fresh.push(outgoing);
      queuedBytes += bytes.length;
      schedule();
    },
    addCredit(id, bytes) {
      const outgoing = find(id);
      if (outgoing === undefined) return;
      outgoing.credit += bytes;
      if (outgoing.credit > 0xffff_ffff) throw new ProtocolError('credit exceeds what a body can hold');
      if (!outgoing.waiting) return;
      outgoing.waiting = false;
      begun.push(outgoing);
      schedule();
    },
    cancelBody(id) {
      const outgoing = find(id);
      if (outgoing === undefined) return true;
      partial.delete(id);
      queuedBytes -= outgoing.bytes.length - outgoing.sent;
      remove(fresh, outgoing);
      remove(begun, outgoing);
      wakeIfDrained();
      outgoing.onReleased?.();
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
      for (const { onReleased } of left) onReleased?.();
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

/** What we send at most: with the head of its WebSocket frame it fills the 65,536 bytes that Node.js reads at once. */
export const SENT_MESSAGE_MAX_BYTES = 65_528;

/** Longer messages are sent from the draft itself, shorter ones are copied so as not to hold all of it. */
const COPIED_MAX_BYTES = 16_384;

/** All links share one: nothing else runs between the start and the end of a message. */
let draft: Buffer | undefined;

/** Memory for one message. Earlier contents are no longer needed. */
function writableDraft(): Buffer {
  draft ??= Buffer.allocUnsafeSlow(SENT_MESSAGE_MAX_BYTES);
  return draft;
}

/** The first `length` bytes of the draft, which nothing will change from now on. */
function takeDraft(length: number): Buffer {
  const message = writableDraft().subarray(0, length);
  if (length <= COPIED_MAX_BYTES) return Buffer.from(message);
  draft = undefined;
  return message;
}
