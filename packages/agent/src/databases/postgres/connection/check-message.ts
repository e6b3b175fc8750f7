/** The codes of messages, as PostgreSQL's documentation names them. */
const DATA_ROW = 0x44;
export const READY_FOR_QUERY = 0x5a;
export const NOTICE = 0x4e;
export const NOTIFICATION = 0x41;
export const PARAMETER_STATUS = 0x53;
const AUTHENTICATION = 0x52;
const BACKEND_KEY_DATA = 0x4b;
const BIND_COMPLETE = 0x32;
const CLOSE_COMPLETE = 0x33;
const COMMAND_COMPLETE = 0x43;
const EMPTY_QUERY = 0x49;
const ERROR = 0x45;
const NO_DATA = 0x6e;
const PARAMETER_DESCRIPTION = 0x74;
const PARSE_COMPLETE = 0x31;
const ROW_DESCRIPTION = 0x54;

/** How many bytes follow the name of a field in RowDescription. */
const FIELD_BYTES = 18;
/** Whether the body of a message has the form that its code asks for. */
type Form = (bytes: Buffer, at: number, end: number) => boolean;
const ANOTHER = 'a message that cannot be read';

/**
 * What is wrong with the message whose body is from `at` to `end`, as part of a sentence. The requests of the login so
 * far are in `authentications`, which is undefined once the login is over.
 */
export function checkMessage(
  code: number,
  bytes: Buffer,
  at: number,
  end: number,
  authentications: Set<number> | undefined,
): string | undefined {
  if (end < at) return ANOTHER;
  if (code === AUTHENTICATION) return checkAuthentication(bytes, at, end, authentications);
  const isSound = code === DATA_ROW ? isDataRow(bytes, at, end) : FORMS.get(code)?.(bytes, at, end);
  if (isSound === undefined) return 'a message that no statement of the agent causes';
  return isSound ? undefined : ANOTHER;
}

const isEmpty: Form = (_bytes, at, end) => at === end;
const isText: Form = (bytes, at, end) => textEnd(bytes, at, end) === end;

/** COPY and PortalSuspended are refused: the library answers each of them, as often as they come. */
const FORMS: ReadonlyMap<number, Form> = new Map([
  [PARSE_COMPLETE, isEmpty],
  [BIND_COMPLETE, isEmpty],
  [CLOSE_COMPLETE, isEmpty],
  [NO_DATA, isEmpty],
  [EMPTY_QUERY, isEmpty],
  [COMMAND_COMPLETE, isText],
  [READY_FOR_QUERY, (_bytes, at, end) => at + 1 === end],
  [ERROR, isFieldList],
  [NOTICE, isFieldList],
  [PARAMETER_STATUS, (bytes, at, end) => isText(bytes, textEnd(bytes, at, end), end)],
  [NOTIFICATION, (bytes, at, end) => isText(bytes, textEnd(bytes, at + 4, end), end)],
  [ROW_DESCRIPTION, isRowDescription],
  [PARAMETER_DESCRIPTION, (bytes, at, end) => at + 2 <= end && at + 2 + bytes.readUInt16BE(at) * 4 === end],
  [BACKEND_KEY_DATA, (_bytes, at, end) => at + 8 === end],
]);

/** Each request comes once in a login: the library derives a key for each that it gets. */
function checkAuthentication(
  bytes: Buffer,
  at: number,
  end: number,
  authentications: Set<number> | undefined,
): string | undefined {
  if (at + 4 > end) return ANOTHER;
  const kind = bytes.readInt32BE(at);
  if (authentications === undefined || authentications.has(kind)) {
    return 'a request for authentication that is not due';
  }
  authentications.add(kind);
  const isList = kind === 10;
  return isList && bytes[end - 1] !== 0 ? ANOTHER : undefined;
}

function isDataRow(bytes: Buffer, from: number, end: number): boolean {
  if (from + 2 > end) return false;
  let at = from + 2;
  for (let left = readUint16(bytes, from); left !== 0; left -= 1) {
    if (at + 4 > end) return false;
    const length = readUint32(bytes, at) | 0;
    if (length < -1) return false;
    at += 4 + Math.max(length, 0);
  }
  return at === end;
}

/**
 * In an error or a notice each field is a byte and a text, and a zero ends the list: without it the library reads on for
 * ever.
 */
function isFieldList(bytes: Buffer, from: number, end: number): boolean {
  let at = from;
  while (at < end && bytes[at] !== 0) at = textEnd(bytes, at + 1, end);
  return at + 1 === end;
}

function isRowDescription(bytes: Buffer, from: number, end: number): boolean {
  if (from + 2 > end) return false;
  let at = from + 2;
  for (let left = bytes.readInt16BE(from); left !== 0; left -= 1) {
    if (left < 0 || at >= end) return false;
    at = textEnd(bytes, at, end) + FIELD_BYTES;
  }
  return at === end;
}

/** As `readUInt32BE`, three times as fast, for each row is read so. There must be four bytes. */
export function readUint32(bytes: Buffer, at: number): number {
  return readUint16(bytes, at) * 0x1_0000 + readUint16(bytes, at + 2);
}

function readUint16(bytes: Buffer, at: number): number {
  return ((bytes[at] ?? 0) << 8) | (bytes[at + 1] ?? 0);
}

/** The place after the zero that ends a text; beyond `end` if none does. */
function textEnd(bytes: Buffer, at: number, end: number): number {
  const zero = at < end ? bytes.indexOf(0, at) : -1;
  return zero < 0 || zero >= end ? end + 1 : zero + 1;
}
