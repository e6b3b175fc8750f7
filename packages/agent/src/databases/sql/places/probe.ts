import type { SqlToken } from '../scanner.ts';
import { loneParameter, rowCounts } from './row-counts.ts';
import { closingAfter, findAtLevel, isWord, openingBefore } from './tokens.ts';

const BEHIND_FROM = /^(?:where|group|having|order|limit|union|except|intersect|window|fetch|for)$/i;

/**
 * A SELECT of what stands from `start` up to `end`, in the place of each SELECT around it: from what it yields the server
 * says of which type that is. Nothing of it is to be run. `written` stands for a parameter.
 */
export function probeOf(
  sql: string,
  body: readonly SqlToken[],
  start: number,
  end: number,
  written: (token: SqlToken) => string = () => 'null',
): string {
  const counts = new Set(rowCounts(body).map((count) => loneParameter(body, count)));
  const textOf = (from: number, to: number): string =>
    body
      .slice(from, to)
      .map((token, index) => {
        const at = from + index;
        const gap = index === 0 ? '' : sql.slice(body[at - 1]?.end, token.start);
        if (token.kind !== 'parameter' && token.kind !== 'variable')
          return gap + sql.slice(token.start, token.end);
        return gap + (counts.has(at) ? '1' : written(token));
      })
      .join('');
  let probe = `(${textOf(start, end)})`;
  let at = start;
  for (;;) {
    const opening = openingBefore(body, at);
    const select = findAtLevel(body, at - 1, -1, (token) => isWord(token, /^select$/i));
    if (select !== undefined) {
      const from = findAtLevel(body, select + 1, 1, (token) => isWord(token, /^(?:from|union)$/i));
      const hasFrom = from !== undefined && isWord(body[from], /^from$/i);
      const behind = hasFrom
        ? (findAtLevel(body, from + 1, 1, (token) => isWord(token, BEHIND_FROM)) ?? closingAfter(body, from))
        : 0;
      const source = hasFrom ? ` ${textOf(from, behind)}` : '';
      probe = `(select ${probe} as a${source})`;
    }
    if (opening < 0) break;
    at = opening;
  }
  const plain = probe.startsWith('(select ') ? probe.slice(1, -1) : `select ${probe} as a`;
  return `${withOf(body, textOf)}${plain}`;
}

/** The common table expressions of the whole statement. */
function withOf(body: readonly SqlToken[], textOf: (from: number, to: number) => string): string {
  if (!isWord(body[0], /^with$/i)) return '';
  const select = findAtLevel(body, 0, 1, (token) => isWord(token, /^select$/i)) ?? 0;
  return `${textOf(0, select)} `;
}
