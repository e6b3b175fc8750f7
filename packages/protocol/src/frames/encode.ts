import { ERROR_MESSAGE_MAX_BYTES, FRAME_HEADER_BYTES, FRAME_PAYLOAD_MAX_BYTES } from '../limits.ts';
import type { ErrorFrame, Frame, RequestFrame, ResultFrame } from './frame.ts';
import {
  CAPABILITY_NAME_MAX_BYTES,
  FLAG,
  GO_AWAY_REASON_MAX_BYTES,
  METADATA_KEY_MAX_BYTES,
  METADATA_MAX_ENTRIES,
  METADATA_VALUE_MAX_BYTES,
  REQUEST_FIXED_BYTES,
  RESULT_FIXED_BYTES,
  TYPE,
} from './layout.ts';

const UINT32_MAX = 0xffff_ffff;

/** One frame as it travels. Throws RangeError when a field is larger than its bound. */
export function encodeFrame(frame: Frame): Buffer {
  switch (frame.type) {
    case 'request':
      return encodeRequest(frame);
    case 'result':
      return encodeResult(frame);
    case 'data': {
      const buffer = allocate(TYPE.data, frame.fin ? FLAG.fin : 0, frame.id, frame.bytes.length);
      buffer.set(frame.bytes, FRAME_HEADER_BYTES);
      return buffer;
    }
    case 'error':
      return encodeError(frame);
    case 'cancel':
      return allocate(TYPE.cancel, 0, frame.id, 0);
    case 'credit': {
      const buffer = allocate(TYPE.credit, 0, frame.id, 4);
      buffer.writeUInt32BE(frame.bytes, FRAME_HEADER_BYTES);
      return buffer;
    }
    case 'ping':
    case 'pong': {
      const buffer = allocate(TYPE[frame.type], 0, 0, 4);
      buffer.writeUInt32BE(frame.token, FRAME_HEADER_BYTES);
      return buffer;
    }
    case 'go_away': {
      const reason = Buffer.from(frame.reason, 'utf8');
      checkBound('go-away reason', reason.length, GO_AWAY_REASON_MAX_BYTES);
      const buffer = allocate(TYPE.go_away, 0, 0, reason.length);
      buffer.set(reason, FRAME_HEADER_BYTES);
      return buffer;
    }
  }
}

/** A request frame without its parameters. */
export type RequestHead = Omit<RequestFrame, 'params' | 'fin' | 'paramsLength'>;

/** Bytes of a request frame without its parameters. Throws RangeError when a field exceeds its bound. */
export function requestOverhead(head: RequestHead): number {
  if (head.timeoutMs < 0) throw new RangeError('cannot encode the frame: timeout is below zero');
  checkBound('timeout', head.timeoutMs, UINT32_MAX);
  const nameBytes = Buffer.byteLength(head.capability);
  checkBound('capability name', nameBytes, CAPABILITY_NAME_MAX_BYTES);
  let bytes = FRAME_HEADER_BYTES + REQUEST_FIXED_BYTES + nameBytes;
  const entries = Object.entries(head.metadata);
  checkBound('metadata entries', entries.length, METADATA_MAX_ENTRIES);
  for (const [key, value] of entries) {
    const valueBytes = Buffer.byteLength(value);
    checkBound('metadata key', key.length, METADATA_KEY_MAX_BYTES);
    checkBound(`metadata ${key}`, valueBytes, METADATA_VALUE_MAX_BYTES);
    bytes += 3 + key.length + valueBytes;
  }
  return bytes;
}

/** Bytes of a result frame without its rows. */
export const RESULT_OVERHEAD: number = FRAME_HEADER_BYTES + RESULT_FIXED_BYTES;

function encodeRequest(frame: RequestFrame): Buffer {
  const { capability, metadata, params } = frame;
  const size = requestOverhead(frame) - FRAME_HEADER_BYTES + params.length;
  const buffer = allocate(TYPE.request, frame.fin ? FLAG.fin : 0, frame.id, size);
  let at = buffer.writeUInt32BE(frame.timeoutMs, FRAME_HEADER_BYTES);
  at = buffer.writeUInt32BE(frame.paramsLength, at);
  const nameLength = buffer.write(capability, at + 1, 'utf8');
  at = buffer.writeUInt8(nameLength, at) + nameLength;
  const keys = Object.keys(metadata);
  at = buffer.writeUInt8(keys.length, at);
  for (const key of keys) {
    at = buffer.writeUInt8(key.length, at);
    at += buffer.write(key, at, 'latin1');
    const valueLength = buffer.write(metadata[key] ?? '', at + 2, 'utf8');
    at = buffer.writeUInt16BE(valueLength, at) + valueLength;
  }
  buffer.set(params, at);
  return buffer;
}

function encodeResult(frame: ResultFrame): Buffer {
  const flags = (frame.fin ? FLAG.fin : 0) | (frame.truncated ? FLAG.truncated : 0);
  const buffer = allocate(TYPE.result, flags, frame.id, RESULT_FIXED_BYTES + frame.rows.length);
  buffer.writeUInt32BE(frame.count, FRAME_HEADER_BYTES);
  buffer.writeUInt32BE(frame.rowsLength, FRAME_HEADER_BYTES + 4);
  buffer.set(frame.rows, FRAME_HEADER_BYTES + RESULT_FIXED_BYTES);
  return buffer;
}

function encodeError(frame: ErrorFrame): Buffer {
  const message = Buffer.from(frame.message, 'utf8');
  checkBound('error message', message.length, ERROR_MESSAGE_MAX_BYTES);
  const flags = frame.notStarted ? FLAG.not_started : 0;
  const buffer = allocate(TYPE.error, flags, frame.id, 1 + frame.code.length + message.length);
  let at = buffer.writeUInt8(frame.code.length, FRAME_HEADER_BYTES);
  at += buffer.write(frame.code, at, 'latin1');
  buffer.set(message, at);
  return buffer;
}

function allocate(type: number, flags: number, id: number, payloadBytes: number): Buffer {
  checkBound('frame payload', payloadBytes, FRAME_PAYLOAD_MAX_BYTES);
  const buffer = Buffer.allocUnsafe(FRAME_HEADER_BYTES + payloadBytes);
  buffer[0] = type;
  buffer[1] = flags;
  buffer.writeUInt16BE(payloadBytes, 2);
  buffer.writeUInt32BE(id, 4);
  return buffer;
}

function checkBound(what: string, value: number, bound: number): void {
  if (value > bound) throw new RangeError(`cannot encode the frame: ${what} is ${value}, at most ${bound}`);
}
