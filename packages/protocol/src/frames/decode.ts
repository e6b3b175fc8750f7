import { isAgentErrorCode } from '../rules/errors.ts';
import { ProtocolError } from '../rules/close-code.ts';
import {
  CURSOR_MAX_BYTES,
  DATABASES_MAX,
  ERROR_MESSAGE_MAX_BYTES,
  FRAME_HEADER_BYTES,
  MESSAGE_MAX_BYTES,
  type ProtocolVersion,
} from '../rules/limits.ts';
import { JsonError, parseStrictJson } from '../json/strict-json.ts';
import { DATABASE_STATES, type DatabaseState, type Frame, type Metadata } from './frame.ts';
import {
  CAPABILITY_NAME_MAX_BYTES,
  DATABASE_NAME_PATTERN,
  FLAG,
  GO_AWAY_REASON_MAX_BYTES,
  METADATA_BOUNDS,
  METADATA_MAX_ENTRIES,
  REQUEST_FIXED_BYTES,
  RESULT_FIXED_BYTES,
  TYPE,
} from './layout.ts';

/**
 * The frames of one WebSocket message, in order. Byte fields are views into `message`.
 * Throws ProtocolError at the first frame that breaks a rule of PROTOCOL.md.
 */
export function decodeMessage(message: Buffer, version: ProtocolVersion = 2): Frame[] {
  if (message.length > MESSAGE_MAX_BYTES) throw new ProtocolError('message is too large');
  if (message.length === 0) throw new ProtocolError('message is empty');
  const frames: Frame[] = [];
  let at = 0;
  while (at < message.length) {
    if (message.length - at < FRAME_HEADER_BYTES) throw new ProtocolError('frame header is cut off');
    const end = at + FRAME_HEADER_BYTES + message.readUInt16BE(at + 2);
    if (end > message.length) throw new ProtocolError('frame payload is cut off');
    frames.push(decodeFrame(message, at, end, version));
    at = end;
  }
  return frames;
}

function decodeFrame(message: Buffer, at: number, end: number, version: ProtocolVersion): Frame {
  const type = message.readUInt8(at);
  const flags = message.readUInt8(at + 1);
  const id = message.readUInt32BE(at + 4);
  const payload = message.subarray(at + FRAME_HEADER_BYTES, end);
  if ((type >= TYPE.ping && type <= TYPE.fleet) || type === TYPE.databases) {
    if (id !== 0) throw new ProtocolError('link-level frame carries a call id');
  } else if (id === 0) {
    throw new ProtocolError('call-level frame carries no call id');
  }
  switch (type) {
    case TYPE.request:
      allowFlags(flags, FLAG.fin);
      return decodeRequest(id, flags, payload, version);
    case TYPE.result:
      allowFlags(flags, FLAG.fin | FLAG.truncated);
      return decodeResult(id, flags, payload);
    case TYPE.data:
      allowFlags(flags, FLAG.fin);
      if (payload.length === 0) throw new ProtocolError('data frame is empty');
      return { type: 'data', id, bytes: payload, fin: (flags & FLAG.fin) !== 0 };
    case TYPE.error:
      allowFlags(flags, FLAG.not_started);
      return decodeError(id, flags, payload, version);
    case TYPE.cancel:
      allowFlags(flags, 0);
      expectLength(payload, 0);
      return { type: 'cancel', id };
    case TYPE.credit: {
      allowFlags(flags, 0);
      expectLength(payload, 4);
      const bytes = payload.readUInt32BE(0);
      if (bytes === 0) throw new ProtocolError('credit frame grants nothing');
      return { type: 'credit', id, bytes };
    }
    case TYPE.ping:
    case TYPE.pong:
      allowFlags(flags, 0);
      expectLength(payload, 4);
      return { type: type === TYPE.ping ? 'ping' : 'pong', token: payload.readUInt32BE(0) };
    case TYPE.go_away:
      allowFlags(flags, 0);
      if (payload.length > GO_AWAY_REASON_MAX_BYTES) throw new ProtocolError('go-away reason is too long');
      return { type: 'go_away', reason: text(payload, 0, payload.length) };
    case TYPE.fleet: {
      allowFlags(flags, 0);
      expectLength(payload, 8);
      const replicaCount = payload.readUInt32BE(0);
      const linksPerReplica = payload.readUInt32BE(4);
      if (replicaCount === 0 || linksPerReplica === 0) throw new ProtocolError('fleet frame counts nothing');
      return { type: 'fleet', replicaCount, linksPerReplica };
    }
    case TYPE.cursor:
      allowFlags(flags, 0);
      if (payload.length === 0) throw new ProtocolError('cursor frame is empty');
      if (payload.length > CURSOR_MAX_BYTES) throw new ProtocolError('cursor is too long');
      return { type: 'cursor', id, cursor: text(payload, 0, payload.length) };
    case TYPE.databases:
      allowFlags(flags, 0);
      return { type: 'databases', databases: decodeDatabases(payload) };
    default:
      throw new ProtocolError(`frame type ${type} is unknown`);
  }
}

function decodeRequest(id: number, flags: number, payload: Buffer, version: ProtocolVersion): Frame {
  if (payload.length < REQUEST_FIXED_BYTES) throw new ProtocolError('request frame is cut off');
  const nameEnd = 9 + payload.readUInt8(8);
  if (nameEnd - 9 > CAPABILITY_NAME_MAX_BYTES) throw new ProtocolError('capability name is too long');
  if (nameEnd + 1 > payload.length) throw new ProtocolError('capability name is cut off');
  const { metadata, end } = decodeMetadata(payload, nameEnd, version);
  const params = payload.subarray(end);
  const paramsLength = payload.readUInt32BE(4);
  const fin = (flags & FLAG.fin) !== 0;
  checkBody(params.length, paramsLength, fin);
  return {
    type: 'request',
    id,
    capability: text(payload, 9, nameEnd),
    timeoutMs: payload.readUInt32BE(0),
    metadata,
    paramsLength,
    params,
    fin,
  };
}

function decodeMetadata(
  payload: Buffer,
  start: number,
  version: ProtocolVersion,
): { metadata: Metadata; end: number } {
  const { valueBytes, allBytes } = METADATA_BOUNDS[version];
  const metadata: Record<string, string> = Object.create(null);
  const entries = payload.readUInt8(start);
  if (entries > METADATA_MAX_ENTRIES) throw new ProtocolError('metadata has too many entries');
  let at = start + 1;
  for (let entry = 0; entry < entries; entry++) {
    if (at >= payload.length) throw new ProtocolError('metadata is cut off');
    const keyEnd = at + 1 + payload.readUInt8(at);
    if (keyEnd + 2 > payload.length) throw new ProtocolError('metadata is cut off');
    const valueEnd = keyEnd + 2 + payload.readUInt16BE(keyEnd);
    if (valueEnd - keyEnd - 2 > valueBytes) throw new ProtocolError('metadata value is too long');
    if (valueEnd > payload.length) throw new ProtocolError('metadata is cut off');
    const key = payload.toString('latin1', at + 1, keyEnd);
    if (key in metadata) throw new ProtocolError('metadata has a key twice');
    metadata[key] = text(payload, keyEnd + 2, valueEnd);
    at = valueEnd;
  }
  if (at - start - 1 > allBytes) throw new ProtocolError('metadata is too long');
  return { metadata, end: at };
}

function decodeResult(id: number, flags: number, payload: Buffer): Frame {
  if (payload.length < RESULT_FIXED_BYTES) throw new ProtocolError('result frame is cut off');
  const rows = payload.subarray(RESULT_FIXED_BYTES);
  const rowsLength = payload.readUInt32BE(4);
  const fin = (flags & FLAG.fin) !== 0;
  checkBody(rows.length, rowsLength, fin);
  const truncated = (flags & FLAG.truncated) !== 0;
  return { type: 'result', id, count: payload.readUInt32BE(0), truncated, rowsLength, rows, fin };
}

function decodeError(id: number, flags: number, payload: Buffer, version: ProtocolVersion): Frame {
  if (payload.length < 1) throw new ProtocolError('error frame is cut off');
  const codeEnd = 1 + payload.readUInt8(0);
  if (codeEnd > payload.length) throw new ProtocolError('error code is cut off');
  if (payload.length - codeEnd > ERROR_MESSAGE_MAX_BYTES)
    throw new ProtocolError('error message is too long');
  const code = payload.toString('latin1', 1, codeEnd);
  if (!isAgentErrorCode(code, version)) throw new ProtocolError('error code is unknown');
  const notStarted = (flags & FLAG.not_started) !== 0;
  return { type: 'error', id, code, message: text(payload, codeEnd, payload.length), notStarted };
}

/** Unknown fields are ignored: a later agent may say more about a database. */
function decodeDatabases(payload: Buffer): readonly DatabaseState[] {
  let entries: unknown;
  try {
    entries = parseStrictJson(payload);
  } catch (error) {
    if (!(error instanceof JsonError)) throw error;
    throw new ProtocolError('databases frame is not JSON');
  }
  if (!Array.isArray(entries) || entries.length > DATABASES_MAX)
    throw new ProtocolError(`databases frame is not a list of at most ${DATABASES_MAX}`);
  const databases = entries.map(decodeDatabase);
  if (new Set(databases.map(({ name }) => name)).size < databases.length)
    throw new ProtocolError('databases frame has a name twice');
  return databases;
}

function decodeDatabase(entry: unknown): DatabaseState {
  const { name, state }: Readonly<Record<string, unknown>> = Object(entry);
  const known = DATABASE_STATES.find((each) => each === state);
  if (typeof name !== 'string' || !DATABASE_NAME_PATTERN.test(name) || known === undefined)
    throw new ProtocolError('databases frame has an entry without a name or a known state');
  return { name, state: known };
}

/** A body's first piece says whether it is the last; the sums must agree. */
function checkBody(pieceBytes: number, totalBytes: number, fin: boolean): void {
  if (pieceBytes > totalBytes) throw new ProtocolError('body is longer than announced');
  if (fin !== (pieceBytes === totalBytes)) throw new ProtocolError('end of body disagrees with its length');
}

function allowFlags(flags: number, allowed: number): void {
  if ((flags & ~allowed) !== 0) throw new ProtocolError('frame has a flag that its type does not know');
}

function expectLength(payload: Buffer, bytes: number): void {
  if (payload.length !== bytes) throw new ProtocolError('frame payload has the wrong length');
}

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** Bytes that are not UTF-8 become this character, which a text may also contain. */
const REPLACEMENT = '\u{FFFD}';

function text(bytes: Buffer, start: number, end: number): string {
  const read = bytes.toString('utf8', start, end);
  if (!read.includes(REPLACEMENT)) return read;
  try {
    return utf8.decode(bytes.subarray(start, end));
  } catch {
    throw new ProtocolError('text is not UTF-8');
  }
}
