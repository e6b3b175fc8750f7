import { parseDuration } from '@svc/edge';
import { bad, good, quoted, type Parsed } from './parsed.ts';

/** A duration between two others, which are written as `range` says. */
export function parseDurationWithin(
  text: string,
  { leastMs, mostMs, range }: { readonly leastMs: number; readonly mostMs: number; readonly range: string },
): Parsed<number> {
  const milliseconds = parseDuration(text);
  if (milliseconds >= leastMs && milliseconds <= mostMs) return good(milliseconds);
  const accepted = `accepted: a duration like 500ms, 30s or 1m30s, ${range}`;
  return bad(`${quoted(text)} is not accepted; ${accepted}`);
}
