import assert from 'node:assert/strict';
import { decodeMessage } from '../frames/decode.ts';
import { encodeFrame, requestOverhead, RESULT_OVERHEAD } from '../frames/encode.ts';
import type { Frame } from '../frames/frame.ts';
import { INITIAL_CREDIT_BYTES } from '../rules/limits.ts';
import {
  createSendQueue,
  SENT_MESSAGE_MAX_BYTES,
  type BodyHead,
  type SendQueue,
  type SendQueueSocket,
} from './send-queue.ts';

/** The longest body that a model takes. */
export const CONTENT_BYTES = 600_000;
/** No two stretches of it are alike, so that a piece out of place is seen. */
export const CONTENT: Buffer = Buffer.from(
  Uint32Array.from({ length: CONTENT_BYTES / 4 }, (_, at) => at).buffer,
);

/** PROTOCOL.md, "Bodies and credit". */
export const FIRST_PIECE_BYTES = 16_384;
const CONTINUATION_SHARE_BYTES = 16_384;

interface ModelBody {
  readonly head: BodyHead;
  readonly headBytes: number;
  readonly bytes: Buffer;
  sent: number;
  begun: boolean;
  granted: number;
  cancelled: boolean;
}

/** What a send queue may and must do, beside a real one, of which every message is checked against it. */
export interface SendQueueModel {
  readonly sendQueue: SendQueue;
  readonly bodies: ReadonlyMap<number, ModelBody>;
  /** Bodies that were not cancelled. */
  readonly live: ModelBody[];
  /** Control frames that have not been sent. */
  readonly controls: readonly Frame[];
  /** Messages sent so far, and those of them that have not left for the operating system. */
  readonly messages: number;
  readonly unsent: number;
  /** Queues a body with the next id. */
  add(size: number, isRequest: boolean): void;
  sendControl(frame: Frame): void;
  addCredit(id: number, bytes: number): void;
  cancelBody(id: number): void;
  close(): void;
  /** The oldest unsent message has left for the operating system. */
  leave(): void;
  /** Throws what the messages so far did wrong. */
  check(): void;
}

export function createSendQueueModel(): SendQueueModel {
  const bodies = new Map<number, ModelBody>();
  const controls: Frame[] = [];
  const unsent: (() => void)[] = [];
  let messages = 0;
  let closed = false;
  let lastHeadId = 0;
  let verdict: unknown;

  const socket: SendQueueSocket = {
    send(message, sent) {
      messages++;
      unsent.push(sent);
      // Thrown from here it would reach nobody: the send queue sends from the event loop.
      try {
        judge(message);
      } catch (error) {
        verdict ??= error;
      }
    },
  };
  const sendQueue = createSendQueue(socket, 2);
  const live = (): ModelBody[] => [...bodies.values()].filter((body) => !body.cancelled);

  function judge(message: Buffer): void {
    assert(!closed, 'I13: sent after close()');
    assert(unsent.length <= 2, 'I9: more than two unsent messages');
    assert(message.length <= SENT_MESSAGE_MAX_BYTES, 'I9: message too large');
    const frames = decodeMessage(message);
    const bytesLeft = SENT_MESSAGE_MAX_BYTES - judgeControls(frames);
    const mustBegin = freshThatFit(bytesLeft);
    for (const frame of frames.filter(isPiece)) judgePiece(frame);
    for (const { begun, sent, bytes } of mustBegin) {
      assert(begun && sent >= Math.min(bytes.length, FIRST_PIECE_BYTES), 'I11: a new body had to wait');
    }
  }

  /** The bytes of the control frames: all that waited, as far as one message holds them. */
  function judgeControls(frames: readonly Frame[]): number {
    const firstPiece = frames.findIndex(isPiece);
    const count = firstPiece < 0 ? frames.length : firstPiece;
    assert(frames.slice(count).every(isPiece), 'I10: a control frame behind a body');
    const taken = encodeAll(frames.slice(0, count));
    assert(taken.equals(encodeAll(controls.splice(0, count))), 'I10: not the control frames that waited');
    const nextBytes = encodeAll(controls.slice(0, 1)).length;
    assert(
      nextBytes === 0 || taken.length + nextBytes > SENT_MESSAGE_MAX_BYTES,
      'I10: a control frame had to wait',
    );
    return taken.length;
  }

  /** New bodies for which the message has space besides the share of those under way. */
  function freshThatFit(bytesLeft: number): ModelBody[] {
    const fit: ModelBody[] = [];
    let left = bytesLeft - CONTINUATION_SHARE_BYTES;
    for (const body of live().filter(({ begun }) => !begun)) {
      left -= body.headBytes + Math.min(body.bytes.length, FIRST_PIECE_BYTES);
      if (left <= 0) break;
      fit.push(body);
    }
    return fit;
  }

  function judgePiece(frame: PieceFrame): void {
    const body = bodies.get(frame.id);
    assert(body !== undefined && !body.cancelled, 'I12: a piece of a body that is not there');
    const { bytes, head } = body;
    const length = pieceOf(frame).length;
    const piece = bytes.subarray(body.sent, body.sent + length);
    body.sent += length;
    assert(body.sent <= body.granted, 'I7: more than was granted');
    const fin = body.sent === bytes.length;
    assert(
      encodeFrame(frame).equals(
        encodeFrame(body.begun ? next(body, piece, fin) : first(head, bytes, piece, fin)),
      ),
      'I6: not the next piece of its body',
    );
    if (!body.begun) {
      assert(frame.id > lastHeadId, 'I8: heads out of order');
      lastHeadId = frame.id;
    }
    body.begun = true;
  }

  return {
    sendQueue,
    bodies,
    controls,
    get live() {
      return live();
    },
    get messages() {
      return messages;
    },
    get unsent() {
      return unsent.length;
    },
    add(size, isRequest) {
      const id = bodies.size + 1;
      const head: BodyHead = isRequest
        ? { type: 'request', id, capability: 'get', timeoutMs: 1, metadata: { request_id: `${id}` } }
        : { type: 'result', id, count: id, truncated: false };
      const start = (id * 4096) % (CONTENT_BYTES - size + 1);
      const bytes = CONTENT.subarray(start, start + size);
      const headBytes = head.type === 'request' ? requestOverhead(head) : RESULT_OVERHEAD;
      const granted = INITIAL_CREDIT_BYTES;
      bodies.set(id, { head, headBytes, bytes, sent: 0, begun: false, granted, cancelled: false });
      sendQueue.sendBody(head, bytes);
    },
    sendControl(frame) {
      controls.push(frame);
      sendQueue.sendControl(frame);
    },
    addCredit(id, bytes) {
      const body = bodies.get(id);
      if (body !== undefined) body.granted += bytes;
      sendQueue.addCredit(id, bytes);
    },
    cancelBody(id) {
      const body = bodies.get(id);
      const known = sendQueue.cancelBody(id);
      if (body === undefined || body.cancelled) return;
      assert.equal(known, body.begun, 'I12: whether the other side knows of the body');
      body.cancelled = true;
    },
    close() {
      closed = true;
      sendQueue.close();
    },
    leave() {
      unsent.shift()?.();
    },
    check() {
      if (verdict !== undefined) throw verdict;
      const queued = live().reduce((sum, body) => sum + body.bytes.length - body.sent, 0);
      assert.equal(sendQueue.queuedBytes, closed ? 0 : queued, 'queuedBytes');
      const unfinished = live().filter(({ begun, bytes, sent }) => !begun || sent < bytes.length);
      assert.equal(sendQueue.queuedBodies, closed ? 0 : unfinished.length, 'queuedBodies');
      assert.equal(sendQueue.queuedControls, closed ? 0 : controls.length, 'queuedControls');
    },
  };
}

type PieceFrame = Extract<Frame, { type: 'request' | 'result' | 'data' }>;

function isPiece(frame: Frame): frame is PieceFrame {
  return frame.type === 'request' || frame.type === 'result' || frame.type === 'data';
}

function pieceOf(frame: PieceFrame): Uint8Array {
  switch (frame.type) {
    case 'request':
      return frame.params;
    case 'result':
      return frame.rows;
    case 'data':
      return frame.bytes;
  }
}

function first(head: BodyHead, bytes: Buffer, piece: Buffer, fin: boolean): Frame {
  return head.type === 'request'
    ? { ...head, paramsLength: bytes.length, params: piece, fin }
    : { ...head, rowsLength: bytes.length, rows: piece, fin };
}

function next({ head }: ModelBody, bytes: Buffer, fin: boolean): Frame {
  return { type: 'data', id: head.id, bytes, fin };
}

function encodeAll(frames: readonly Frame[]): Buffer {
  return Buffer.concat(frames.map((frame) => encodeFrame(frame)));
}
