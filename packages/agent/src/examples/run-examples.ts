import { counted } from '@svc/edge';
import type { Example, Expectation } from '../capabilities/example.ts';
import { isRecord } from '../capabilities/is-record.ts';
import type { Capability } from '../capabilities/model.ts';
import { jsonText, parseJsonText } from '../capabilities/values/json-text.ts';
import type { Answer } from '../trial/open-trial.ts';
import type { ExampleResult } from './report.ts';

/** Names a value that was found: itself on a terminal, only its kind elsewhere, because rows are data and reports are kept. */
export type Show = (value: unknown) => string;

const LONGEST_SHOWN = 80;
/** There may be a problem in each of many rows; more of them would hide the others. */
const PROBLEMS_MAX = 20;

export interface RunExamplesOptions {
  /** Calls a capability as a call of a gateway would. */
  readonly call: (capability: Capability, example: Example) => Promise<Answer>;
  readonly show: Show;
  readonly now: () => number;
  readonly onProgress: (done: number, all: number) => void;
}

/** Runs the examples one after the other: at once, they would slow each other down beyond their `max_ms`. */
export async function runExamples(
  capabilities: readonly Capability[],
  { call, show, now, onProgress }: RunExamplesOptions,
): Promise<readonly ExampleResult[]> {
  const all = capabilities.flatMap((capability) =>
    (capability.examples ?? []).map((example, index) => ({ capability, example, number: index + 1 })),
  );
  const results: ExampleResult[] = [];
  for (const { capability, example, number } of all) {
    onProgress(results.length, all.length);
    const began = now();
    const answer = await call(capability, example);
    const ms = now() - began;
    const problems = judge(example.expect, answer, ms, show);
    results.push({
      capability: capability.name,
      number,
      position: example.position,
      hasPrincipal: example.principal !== undefined,
      ms,
      problems,
    });
  }
  return results;
}

/** How an answer differs from what was expected. */
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
  if (answer.kind === 'error')
    return error === answer.code
      ? []
      : [`expected ${error ?? 'rows'}, got ${answer.code}: ${answer.message}`];
  if (error !== undefined) return [`expected ${error}, got ${rowsOf(answer.count)}`];
  return judgeRows(expected, answer, show);
}

function judgeRows(
  { count, max_count: most, truncated, rows = [] }: Expectation,
  answer: Extract<Answer, { kind: 'rows' }>,
  show: Show,
): readonly string[] {
  const problems: string[] = [];
  if (count !== undefined && answer.count !== count)
    problems.push(`expected ${rowsOf(count)}, got ${rowsOf(answer.count)}`);
  if (most !== undefined && answer.count > most)
    problems.push(`expected at most ${rowsOf(most)}, got ${rowsOf(answer.count)}`);
  if (truncated === true && !answer.truncated)
    problems.push('expected a cap to leave rows out, got all of them');
  if (truncated === false && answer.truncated) problems.push('expected all rows, but a cap left some out');
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

export function showValue(value: unknown): string {
  if (value === undefined) return 'nothing';
  const text = jsonText(value);
  return text.length > LONGEST_SHOWN ? `${text.slice(0, LONGEST_SHOWN)}...` : text;
}

export function showKind(value: unknown): string {
  if (value === undefined) return 'nothing';
  if (value === null || typeof value === 'boolean') return String(value);
  if (Array.isArray(value)) return `another list, of ${value.length}`;
  if (isRecord(value)) return 'an object';
  return typeof value === 'string' ? 'another text' : 'another number';
}

/**
 * How `found` differs from `expected`: an object may have more members than expected; a list must have as many items;
 * everything else must be equal.
 */
export function differences(expected: unknown, found: unknown, path: string, show: Show): readonly string[] {
  if (isRecord(expected) && isRecord(found)) {
    return Object.entries(expected).flatMap(([name, value]) => {
      const member = Object.hasOwn(found, name) ? found[name] : undefined;
      return differences(value, member, `${path}.${name}`, show);
    });
  }
  if (Array.isArray(expected) && Array.isArray(found) && expected.length === found.length)
    return expected.flatMap((value, index) => differences(value, found[index], `${path}[${index}]`, show));
  return isSame(expected, found) ? [] : [`${path}: expected ${showValue(expected)}, got ${show(found)}`];
}

/** An integer beyond 2^53 is a BigInt on both sides, unless the file writes it with a point or an exponent. */
function isSame(expected: unknown, found: unknown): boolean {
  return expected === (typeof found === 'bigint' && typeof expected === 'number' ? Number(found) : found);
}
