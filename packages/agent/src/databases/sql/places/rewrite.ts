import type { SqlToken } from '../scanner.ts';

/** Replaces the tokens from `start` up to `end`. */
export interface Rewriting {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

/** The rewritings must not overlap. */
export function rewrite(sql: string, body: readonly SqlToken[], rewritings: readonly Rewriting[]): string {
  let text = '';
  let at = 0;
  for (const each of rewritings.toSorted((left, right) => left.start - right.start)) {
    text += `${sql.slice(at, body[each.start]?.start)}${each.text}`;
    at = body[each.end - 1]?.end ?? at;
  }
  return text + sql.slice(at);
}

export function writtenAs(sql: string, body: readonly SqlToken[], start: number, end: number): string {
  return sql.slice(body[start]?.start, body[end - 1]?.end);
}
