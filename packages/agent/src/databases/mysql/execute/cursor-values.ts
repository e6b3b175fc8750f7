export type CursorKind =
  | 'signed'
  | 'unsigned'
  | 'decimal'
  | 'double'
  | 'date'
  | 'datetime'
  | 'time'
  | 'bytes'
  | 'text';

/** What the values of a cursor are, by the first word of the type of its column. */
export const CURSOR_TYPES: Readonly<Record<CursorKind, (text: string) => boolean>> = {
  signed: isInteger(-(2n ** 63n), 2n ** 63n - 1n),
  unsigned: isInteger(0n, 2n ** 64n - 1n),
  decimal: (text: string) => /^-?\d{1,65}(?:\.\d{1,38})?$/.test(text),
  double: (text: string) =>
    /^-?\d+(?:\.\d+)?(?:e[+-]?\d{1,3})?$/i.test(text) && Number.isFinite(Number(text)),
  date: isDate,
  datetime: (text: string) => {
    const [, date = '', clock = ''] = /^([\d-]{10}) (.*)$/.exec(text) ?? [];
    return isDate(date) && /^(?:[01]\d|2[0-3])(?::[0-5]\d){2}(?:\.\d{1,6})?$/.test(clock);
  },
  time: (text: string) => /^-?(?:\d{2}|[0-8]\d{2})(?::[0-5]\d){2}(?:\.\d{1,6})?$/.test(text),
  bytes: (text: string) => /^(?:[0-9A-F]{2})*$/.test(text),
  text: () => true,
};

export function isCursorKind(text: string): text is CursorKind {
  return Object.hasOwn(CURSOR_TYPES, text);
}

function isInteger(least: bigint, most: bigint): (text: string) => boolean {
  return (text) => /^-?\d{1,20}$/.test(text) && BigInt(text) >= least && BigInt(text) <= most;
}

/** As the servers keep them: a month or a day may be 0. */
function isDate(text: string): boolean {
  const [, year, month, day] = /^(\d{4})-(\d{2})-(\d{2})$/.exec(text) ?? [];
  if (year === undefined || Number(month) > 12) return false;
  const last = new Date(0);
  // Day 0 of the next month.
  last.setUTCFullYear(Number(year), Number(month), 0);
  return Number(day) <= (Number(month) === 0 ? 31 : last.getUTCDate());
}
