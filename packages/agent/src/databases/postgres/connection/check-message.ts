/** How many bytes follow the name of a field in RowDescription. */
const FIELD_BYTES = 18;
const ANOTHER = 'a message that cannot be read';

/**
 * What is wrong with a whole message, whose body is from `at` to `end`, as part of a sentence; undefined where nothing is.
 * `authentications` are the requests of the login so far, which it adds to; undefined once the login is over.
 */
export function checkMessage(
  code: number,
  bytes: Buffer,
  at: number,
  end: number,
  authentications: Set<number> | undefined,
): string | undefined {
  if (end < at) return ANOTHER;
  switch (String.fromCharCode(code)) {
    case '1':
    case '2':
    case '3':
    case 'n':
    case 'I':
      return at === end ? undefined : ANOTHER;
    case 'D':
      return isDataRow(bytes, at, end) ? undefined : ANOTHER;
    case 'C':
      return textEnd(bytes, at, end) === end ? undefined : ANOTHER;
    case 'Z':
      return at + 1 === end ? undefined : ANOTHER;
    case 'E':
    case 'N':
      return isFieldList(bytes, at, end) ? undefined : ANOTHER;
    case 'S':
      return textEnd(bytes, textEnd(bytes, at, end), end) === end ? undefined : ANOTHER;
    case 'A':
      return textEnd(bytes, textEnd(bytes, at + 4, end), end) === end ? undefined : ANOTHER;
    case 'T':
      return isRowDescription(bytes, at, end) ? undefined : ANOTHER;
    case 't':
      return at + 2 <= end && at + 2 + bytes.readUInt16BE(at) * 4 === end ? undefined : ANOTHER;
    case 'K':
      return at + 8 === end ? undefined : ANOTHER;
    case 'R':
      return checkAuthentication(bytes, at, end, authentications);
    default:
      // COPY and PortalSuspended, too: the library answers each of them, as often as they come.
      return 'a message that no statement of the agent causes';
  }
}

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
  for (let left = bytes.readInt16BE(from); left !== 0; left -= 1) {
    if (left < 0 || at + 4 > end) return false;
    const length = bytes.readInt32BE(at);
    if (length < -1) return false;
    at += 4 + Math.max(length, 0);
  }
  return at === end;
}

/** Of an error or a notice: each field is a byte and a text, and a zero ends them. Without it the library reads on for ever. */
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

/** Behind the zero that ends a text; beyond `end` where none does. */
function textEnd(bytes: Buffer, at: number, end: number): number {
  const zero = at < end ? bytes.indexOf(0, at) : -1;
  return zero < 0 || zero >= end ? end + 1 : zero + 1;
}
