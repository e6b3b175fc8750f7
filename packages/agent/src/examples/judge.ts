import { counted } from '@svc/edge';
import type { Expectation } from '../capabilities/example.ts';
import { parseJsonText } from '../capabilities/values/json-text.ts';
import { differences, type Show } from './compare-rows.ts';

/** How a call ended. */
export type Answer =
  | {
      readonly kind: 'rows';
      /** JSON array. */
      readonly rows: Uint8Array;
      readonly count: number;
      readonly truncated: boolean;
    }
  | { readonly kind: 'error'; readonly code: string; readonly message: string };

/** More hide what is wrong, and there may be one for each of many rows. */
const PROBLEMS_MAX = 20;

/** In what an answer is not what was expected; nothing where it is. */
export function judge(expected: Expectation, answer: Answer, ms: number, show: Show): readonly string[] {
  const { max_ms: most } = expected;
  const problems = judgeOutcome(expected, answer, show);
  const more = problems.length - PROBLEMS_MAX;
  return [
    ...problems.slice(0, PROBLEMS_MAX),
    ...(more > 0 ? [`and ${counted(more, 'more difference', 'more differences')}`] : []),
    ...(most !== undefined && ms > most ? [`took ${Math.ceil(ms)} ms, more than ${most} ms`] : []),
  ];
}

function judgeOutcome(expected: Expectation, answer: Answer, show: Show): readonly string[] {
  const { error } = expected;
  switch (answer.kind) {
    case 'error':
      if (error === answer.code) return [];
      return [`expected ${error ?? 'rows'}, got ${answer.code}: ${answer.message}`];
    case 'rows':
      if (error !== undefined) return [`expected ${error}, got ${rowsOf(answer.count)}`];
      return judgeRows(expected, answer, show);
  }
}

function judgeRows(
  { count, max_count: most, truncated, rows = [] }: Expectation,
  answer: Extract<Answer, { kind: 'rows' }>,
  show: Show,
): readonly string[] {
  const problems: string[] = [];
  if (count !== undefined && answer.count !== count) {
    problems.push(`expected ${rowsOf(count)}, got ${rowsOf(answer.count)}`);
  }
  if (most !== undefined && answer.count > most) {
    problems.push(`expected at most ${rowsOf(most)}, got ${rowsOf(answer.count)}`);
  }
  if (truncated !== undefined && answer.truncated !== truncated) {
    problems.push(
      truncated
        ? 'expected a cap to leave rows out, got all of them'
        : 'expected all rows, but a cap left some out',
    );
  }
  if (rows.length === 0) return problems;
  const found = parseJsonText(Buffer.from(answer.rows).toString());
  if (!Array.isArray(found)) return ['the rows are no list'];
  const compared = rows.flatMap((row, index) => {
    const path = `rows[${index}]`;
    return index < found.length
      ? differences(row, found[index], path, show)
      : [`${path}: expected a row, got ${rowsOf(found.length)}`];
  });
  return [...problems, ...compared];
}

function rowsOf(count: number): string {
  return counted(count, 'row', 'rows');
}
