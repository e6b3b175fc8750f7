import { isIPv4, isIPv6 } from 'node:net';

const DATE = /^(\d{4})-(\d{2})-(\d{2})$/;
const TIME = /^([01]\d|2[0-3]):[0-5]\d:([0-5]\d|60)(\.\d{1,9})?(z|[+-](0\d|1[0-5]):[0-5]\d)$/i;
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;
const LABEL = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/i;
const ATOM = /^[a-z0-9!#$%&'*+/=?^_`{|}~-]+$/i;
const URI = /^[a-z][a-z0-9+.-]*:(?:[a-z0-9._~:/?#[\]@!$&'()*+,;=-]|%[0-9a-f]{2})*$/i;
const DAYS = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

/** A day of the calendar in the years 0001 to 9999, as `YYYY-MM-DD`. */
function isDate(text: string): boolean {
  const match = DATE.exec(text);
  if (match === null) return false;
  const [year, month, day] = match.slice(1).map(Number);
  if (year === undefined || month === undefined || day === undefined || year === 0 || day === 0) return false;
  const leap = year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0);
  return day <= (month === 2 && leap ? 29 : (DAYS[month - 1] ?? 0));
}

/**
 * RFC 3339 with an offset, in the years 0001 to 9999. Offsets stay below 16 hours and fractions of a
 * second within nine digits: databases take no more.
 */
function isDateTime(text: string): boolean {
  const separator = text[10];
  return (separator === 'T' || separator === 't') && isDate(text.slice(0, 10)) && TIME.test(text.slice(11));
}

/** RFC 1123. */
function isHostname(text: string): boolean {
  return text.length <= 253 && text.split('.').every((label) => LABEL.test(label));
}

/** A mailbox of RFC 5321 without quoted names and address literals. */
function isEmail(text: string): boolean {
  const [local = '', host = '', ...others] = text.length <= 254 ? text.split('@') : [];
  const names = local.split('.');
  return (
    others.length === 0 && local.length <= 64 && names.every((name) => ATOM.test(name)) && isHostname(host)
  );
}

/**
 * The formats that a `string` parameter can ask for, with JSON Schema's names and meaning. Each takes
 * time proportional to the length of the text.
 */
export const stringFormats: ReadonlyMap<string, (text: string) => boolean> = new Map([
  ['date', isDate],
  ['date-time', isDateTime],
  // RFC 3339 `full-time`: with an offset.
  ['time', (text) => TIME.test(text)],
  ['email', isEmail],
  // An absolute URI in the characters of RFC 3986.
  ['uri', (text) => URI.test(text) && URL.canParse(text)],
  // The canonical form: 32 hexadecimal digits in five groups.
  ['uuid', (text) => UUID.test(text)],
  ['ipv4', isIPv4],
  // Without a zone, which has a meaning on one machine only.
  ['ipv6', (text) => isIPv6(text) && !text.includes('%')],
  ['hostname', isHostname],
]);
