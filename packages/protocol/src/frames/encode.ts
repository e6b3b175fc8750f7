import { isAgentErrorCode } from '../rules/errors.ts';
import {
  CURSOR_MAX_BYTES,
  DATABASES_MAX,
  ERROR_MESSAGE_MAX_BYTES,
  FRAME_HEADER_BYTES,
  FRAME_PAYLOAD_MAX_BYTES,
  type ProtocolVersion,
} from '../rules/limits.ts';
import type { ErrorFrame, Frame, RequestFrame, ResultFrame } from './frame.ts';
import {
  CAPABILITY_NAME_MAX_BYTES,
  FLAG,
  GO_AWAY_REASON_MAX_BYTES,
  METADATA_BOUNDS,
  METADATA_KEY_MAX_BYTES,
  METADATA_MAX_ENTRIES,
  REQUEST_FIXED_BYTES,
  RESULT_FIXED_BYTES,
  TYPE,
} from './layout.ts';

const UINT32_MAX = 0xffff_ffff;

/** One frame as it travels. Throws RangeError when a field is larger than its bound in this version. */
export function encodeFrame(frame: Frame, version: ProtocolVersion = 2): Buffer {
  switch (frame.type) {
    case 'request': {
      const overhead = requestOverhead(frame, version);
      const buffer = allocate(overhead - FRAME_HEADER_BYTES + frame.params.length);
      writeRequest(buffer, 0, frame, overhead, frame);
      return buffer;
    }
    case 'result': {
      const buffer = allocate(RESULT_FIXED_BYTES + frame.rows.length);
      writeResult(buffer, 0, frame, frame);
      return buffer;
    }
    case 'data': {
      const buffer = allocate(frame.bytes.length);
      writeData(buffer, 0, frame.id, frame.bytes, frame.fin);
      return buffer;
    }
    case 'error':
      return encodeError(frame, version);
    case 'cancel':
      return allocateFor(TYPE.cancel, 0, frame.id, 0);
    case 'credit': {
      const buffer = allocateFor(TYPE.credit, 0, frame.id, 4);
      buffer.writeUInt32BE(frame.bytes, FRAME_HEADER_BYTES);
      return buffer;
    }
    case 'ping':
    case 'pong': {
      const buffer = allocateFor(TYPE[frame.type], 0, 0, 4);
      buffer.writeUInt32BE(frame.token, FRAME_HEADER_BYTES);
      return buffer;
    }
    case 'go_away': {
      const reason = Buffer.from(frame.reason, 'utf8');
      checkBound('go-away reason', reason.length, GO_AWAY_REASON_MAX_BYTES);
      const buffer = allocateFor(TYPE.go_away, 0, 0, reason.length);
      buffer.set(reason, FRAME_HEADER_BYTES);
      return buffer;
    }
    case 'fleet': {
      const buffer = allocateFor(TYPE.fleet, 0, 0, 8);
      buffer.writeUInt32BE(frame.replicaCount, FRAME_HEADER_BYTES);
      buffer.writeUInt32BE(frame.linksPerReplica, FRAME_HEADER_BYTES + 4);
      return buffer;
    }
    case 'cursor': {
      const cursor = Buffer.from(frame.cursor, 'utf8');
      checkBound('cursor', cursor.length, CURSOR_MAX_BYTES);
      const buffer = allocateFor(TYPE.cursor, 0, frame.id, cursor.length);
      buffer.set(cursor, FRAME_HEADER_BYTES);
      return buffer;
    }
    case 'databases': {
      checkBound('databases', frame.databases.length, DATABASES_MAX);
      const states = Buffer.from(JSON.stringify(frame.databases));
      const buffer = allocateFor(TYPE.databases, 0, 0, states.length);
      buffer.set(states, FRAME_HEADER_BYTES);
      return buffer;
    }
  }
}

export type RequestHead = Omit<RequestFrame, 'params' | 'fin' | 'paramsLength'>;

export type ResultHead = Omit<ResultFrame, 'rows' | 'fin' | 'rowsLength'>;

/** Bytes of a request frame without its parameters. Throws RangeError when a field exceeds its bound. */
export function requestOverhead(head: RequestHead, version: ProtocolVersion = 2): number {
  if (head.timeoutMs < 0) throw new RangeError('cannot encode the frame: timeout is below zero');
  checkBound('timeout', head.timeoutMs, UINT32_MAX);
  const nameBytes = Buffer.byteLength(head.capability);
  checkBound('capability name', nameBytes, CAPABILITY_NAME_MAX_BYTES);
  const bytes = FRAME_HEADER_BYTES + REQUEST_FIXED_BYTES + nameBytes;
  const keys = Object.keys(head.metadata);
  checkBound('metadata entries', keys.length, METADATA_MAX_ENTRIES);
  const bounds = METADATA_BOUNDS[version];
  let metadataBytes = 0;
  for (const key of keys) {
    const valueBytes = Buffer.byteLength(head.metadata[key] ?? '');
    checkBound('metadata key', key.length, METADATA_KEY_MAX_BYTES);
    if (valueBytes > bounds.valueBytes) checkBound(`metadata ${key}`, valueBytes, bounds.valueBytes);
    metadataBytes += 3 + key.length + valueBytes;
  }
  checkBound('metadata', metadataBytes, bounds.allBytes);
  return bytes + metadataBytes;
}

export const RESULT_OVERHEAD: number = FRAME_HEADER_BYTES + RESULT_FIXED_BYTES;

/**
 * Writes a request frame at `start`, where there is space for it, and returns its end. `overhead` is what
 * `requestOverhead` returned.
 */
export function writeRequest(
  target: Buffer,
  start: number,
  head: RequestHead,
  overhead: number,
  { params, paramsLength, fin }: Pick<RequestFrame, 'params' | 'paramsLength' | 'fin'>,
): number {
  const { id, capability, timeoutMs, metadata } = head;
  const size = overhead - FRAME_HEADER_BYTES + params.length;
  let at = writeHeader(target, start, TYPE.request, fin ? FLAG.fin : 0, id, size);
  at = target.writeUInt32BE(timeoutMs, at);
  at = target.writeUInt32BE(paramsLength, at);
  const nameLength = target.write(capability, at + 1, 'utf8');
  at = target.writeUInt8(nameLength, at) + nameLength;
  const keys = Object.keys(metadata);
  at = target.writeUInt8(keys.length, at);
  for (const key of keys) {
    at = target.writeUInt8(key.length, at);
    at += target.write(key, at, 'latin1');
    const valueLength = target.write(metadata[key] ?? '', at + 2, 'utf8');
    at = target.writeUInt16BE(valueLength, at) + valueLength;
  }
  target.set(params, at);
  return at + params.length;
}

/** Writes a result frame at `start`, where there is space for it, and returns its end. */
export function writeResult(
  target: Buffer,
  start: number,
  { id, count, truncated }: ResultHead,
  { rows, rowsLength, fin }: Pick<ResultFrame, 'rows' | 'rowsLength' | 'fin'>,
): number {
  const flags = (fin ? FLAG.fin : 0) | (truncated ? FLAG.truncated : 0);
  let at = writeHeader(target, start, TYPE.result, flags, id, RESULT_FIXED_BYTES + rows.length);
  at = target.writeUInt32BE(count, at);
  at = target.writeUInt32BE(rowsLength, at);
  target.set(rows, at);
  return at + rows.length;
}

/** Writes a data frame at `start`, where there is space for it, and returns its end. */
export function writeData(
  target: Buffer,
  start: number,
  id: number,
  bytes: Uint8Array,
  fin: boolean,
): number {
  const at = writeHeader(target, start, TYPE.data, fin ? FLAG.fin : 0, id, bytes.length);
  target.set(bytes, at);
  return at + bytes.length;
}

function encodeError(frame: ErrorFrame, version: ProtocolVersion): Buffer {
  if (!isAgentErrorCode(frame.code, version))
    throw new RangeError(`cannot encode the frame: the code is not one of version ${version}`);
  const message = Buffer.from(frame.message, 'utf8');
  checkBound('error message', message.length, ERROR_MESSAGE_MAX_BYTES);
  const flags = frame.notStarted ? FLAG.not_started : 0;
  const buffer = allocateFor(TYPE.error, flags, frame.id, 1 + frame.code.length + message.length);
  let at = buffer.writeUInt8(frame.code.length, FRAME_HEADER_BYTES);
  at += buffer.write(frame.code, at, 'latin1');
  buffer.set(message, at);
  return buffer;
}

function allocate(payloadBytes: number): Buffer {
  checkBound('frame payload', payloadBytes, FRAME_PAYLOAD_MAX_BYTES);
  return Buffer.allocUnsafe(FRAME_HEADER_BYTES + payloadBytes);
}

function allocateFor(type: number, flags: number, id: number, payloadBytes: number): Buffer {
  const buffer = allocate(payloadBytes);
  writeHeader(buffer, 0, type, flags, id, payloadBytes);
  return buffer;
}

function writeHeader(
  target: Buffer,
  start: number,
  type: number,
  flags: number,
  id: number,
  payloadBytes: number,
): number {
  target[start] = type;
  target[start + 1] = flags;
  target.writeUInt16BE(payloadBytes, start + 2);
  return target.writeUInt32BE(id, start + 4);
}

function checkBound(what: string, value: number, bound: number): void {
  if (value > bound) throw new RangeError(`cannot encode the frame: ${what} is ${value}, at most ${bound}`);
}
