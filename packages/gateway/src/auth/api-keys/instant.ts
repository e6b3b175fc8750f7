const RFC_3339 =
  /^(\d{4})-(\d\d)-(\d\d)T([01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d{1,9})?(?:Z|[+-](?:[01]\d|2[0-3]):[0-5]\d)$/i;

export const INSTANT_ACCEPTED = 'a date and time of RFC 3339 with its offset, like 2027-01-31T00:00:00Z';

/** Milliseconds since 1970; undefined when the text is no date and time with an offset. */
export function parseInstant(text: string): number | undefined {
  const [, year, month, day] = RFC_3339.exec(text) ?? [];
  // Date accepts the 31st of every month.
  const date = new Date(Date.UTC(Number(year), Number(month) - 1, Number(day)));
  if (year === undefined || date.getUTCDate() !== Number(day)) return undefined;
  const milliseconds = Date.parse(text.toUpperCase());
  return Number.isNaN(milliseconds) ? undefined : milliseconds;
}
