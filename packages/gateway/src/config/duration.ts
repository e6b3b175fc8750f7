import { bad, good, quoted, type Parsed } from './parsed.ts';

const UNIT_MS: Readonly<Record<string, number>> = { h: 3_600_000, m: 60_000, s: 1000, ms: 1 };
const FORM = /^(?:(\d{1,9})h)?(?:(\d{1,9})m(?!s))?(?:(\d{1,9})s)?(?:(\d{1,9})ms)?$/;

/** Reads `500ms`, `30s`, `2m`, `1h` and sums like `1m30s` into milliseconds, 1 to `maxMs`. */
export function parseDuration(text: string, maxMs: number): Parsed<number> {
  const parts = FORM.exec(text)?.slice(1) ?? [];
  const units = ['h', 'm', 's', 'ms'];
  const total = units.reduce((sum, unit, index) => sum + Number(parts[index] ?? 0) * (UNIT_MS[unit] ?? 0), 0);
  if (total >= 1 && total <= maxMs) return good(total);
  const accepted = `accepted: a duration like 500ms, 30s or 1m30s, from 1ms to ${maxMs / 1000}s`;
  return bad(`${quoted(text)} is not accepted; ${accepted}`);
}
