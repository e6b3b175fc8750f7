import { counted, printable } from '@svc/edge';
import { rawItems, rawMember } from '@svc/protocol';
import type { ExamplePrincipal } from '../capabilities/example.ts';
import type { Capability } from '../capabilities/model.ts';
import type { QueryPlan } from '../databases/driver/explain.ts';
import type { TrialOutcome } from './open-trial.ts';

const CELL_MAX = 60;
const GAP = '  ';

interface Output {
  write(text: string): unknown;
}

export interface ReportPlace {
  readonly capability: string;
  /** Only a terminal gets database text. */
  readonly stdout: Output & { readonly isTTY?: boolean };
  /** For errors; never gets database text. */
  readonly stderr: Output;
}

/** Prints what `svc-agent try` says of a call. */
export type TryReport = (call: AnsweredCall) => void;

interface AnsweredCall {
  readonly capability: Capability;
  /** Only what the command line says. */
  readonly principal: ExamplePrincipal;
  readonly outcome: TrialOutcome;
  /** Whether what came back is a `QueryPlan`. */
  readonly isPlan: boolean;
  /** Where to find what the database said of an error; empty if nothing, or if the terminal shows it. */
  readonly more: { readonly log?: string; readonly details?: string };
}

/** Lines for people. */
export function textReport({ stdout, stderr }: ReportPlace): TryReport {
  const say = (...lines: readonly string[]): void => lines.forEach((line) => stdout.write(`${line}\n`));
  const details = stdout.isTTY === true;
  return ({ capability, principal, outcome, isPlan, more }) => {
    if (Object.keys(principal).length > 0) say(`who calls: ${nameOf(principal)} (not verified)`);
    const ms = `${outcome.durationMs.toFixed(1)} ms`;
    if (outcome.kind === 'error') {
      stderr.write(`svc-agent: ${outcome.code} after ${ms}: ${outcome.message}\n`);
      if (details && outcome.detail !== undefined) say(`    ${printable(outcome.detail)}`);
      const where = more.log ?? more.details;
      if (where !== undefined) (details ? stdout : stderr).write(`Details: ${where}\n`);
      return;
    }
    if (isPlan) {
      say(...planLines(planOf(outcome.rows), details));
      return;
    }
    const { rows, count, truncated, cursor } = outcome;
    const fields = capability.result.map(({ name }) => name);
    const size = `${counted(rows.length, 'byte', 'bytes')}, some ${counted(tokensOf(rows), 'token', 'tokens')}`;
    // One by one: a function takes some 100,000 arguments.
    for (const line of tableOf(fields, rows)) say(line);
    say('', `${counted(count, 'row', 'rows')}, ${ms}, ${size}`);
    const { maxRows, maxBytes } = capability.limits;
    if (truncated)
      say(
        `truncated: there are more rows than max_rows (${maxRows}) and max_bytes (${maxBytes}) let through`,
      );
    if (cursor !== undefined) say(`next page: the same command with --param cursor=${cursor}`);
  };
}

/** One JSON object for programs. */
export function jsonReport({ capability, stdout }: ReportPlace): TryReport {
  return ({ principal, outcome, isPlan, more }) => {
    const common = {
      ok: outcome.kind === 'rows',
      capability,
      ...(Object.keys(principal).length > 0 ? { principal: { ...principal, verified: false } } : {}),
      duration_ms: Math.round(outcome.durationMs * 1000) / 1000,
    };
    const write = (fields: object): unknown => stdout.write(`${JSON.stringify({ ...common, ...fields })}\n`);
    if (outcome.kind === 'error') {
      const { code, message } = outcome;
      write({ error: { code, message }, ...more });
      return;
    }
    const { rows, count, truncated, cursor } = outcome;
    if (isPlan) {
      const { findings, ...plan } = planOf(rows);
      if (stdout.isTTY === true) write({ findings, plan });
      else write({ findings: findings.map(({ kind, message }) => ({ kind, message })) });
      return;
    }
    const next = cursor === undefined ? {} : { next: { cursor } };
    const figures = { ...common, count, truncated, ...next, bytes: rows.length, tokens: tokensOf(rows) };
    // The rows stay as they are: a JavaScript number does not hold each of theirs.
    stdout.write(`${JSON.stringify(figures).slice(0, -1)},"rows":${Buffer.from(rows).toString()}}\n`);
  };
}

function planLines({ ms, findings, steps }: QueryPlan, details: boolean): readonly string[] {
  return [
    ...(details ? [...steps.map(printable), ''] : []),
    ...findings.flatMap(({ kind, message, detail }) => [
      `${kind.replace('_', ' ')}: ${printable(message)}`,
      ...(details && detail !== undefined ? [`    ${printable(detail)}`] : []),
    ]),
    findings.length === 0
      ? `nothing found that makes it slow, ${ms} ms`
      : `${counted(findings.length, 'finding', 'findings')}, ${ms} ms`,
  ];
}

function planOf(rows: Uint8Array): QueryPlan {
  return JSON.parse(Buffer.from(rows).toString());
}

function tokensOf(rows: Uint8Array): number {
  return Math.ceil(rows.length / 4);
}

function nameOf({ key_name: key, issuer, subject, claims }: ExamplePrincipal): string {
  const named = Object.entries({ key, issuer, subject }).flatMap(([what, value]) =>
    value === undefined ? [] : [`${what} ${printable(value)}`],
  );
  const claimed = Object.entries(claims ?? {}).map(([name, value]) =>
    printable(`${name}=${JSON.stringify(value)}`),
  );
  return [...named, ...(claimed.length > 0 ? [`claims ${claimed.join(' ')}`] : [])].join(', ');
}

/** Rows, a JSON array of objects, as lines for people. Numbers stay as the database wrote them. */
function tableOf(fields: readonly string[], rows: Uint8Array): readonly string[] {
  const cells = rawItems(Buffer.from(rows)).map((row) =>
    fields.map((field) => rawMember(row, field)?.toString() ?? ''),
  );
  const isNumeric = fields.map((_, column) =>
    cells.every((row) => /^(?:-?\d|null$)/.test(row[column] ?? '')),
  );
  const shown = [fields, ...cells.map((row) => row.map(shownValue))].map((row) => row.map(clipped));
  const widths = fields.map((_, column) => Math.max(...shown.map((row) => widthOf(row[column] ?? ''))));
  const lines = shown.map((row) =>
    row
      .map((cell, column) => {
        const padding = ' '.repeat((widths[column] ?? 0) - widthOf(cell));
        return isNumeric[column] === true && cells.length > 0 ? `${padding}${cell}` : `${cell}${padding}`;
      })
      .join(GAP)
      .trimEnd(),
  );
  const [head = '', ...body] = lines;
  return [head, widths.map((width) => '-'.repeat(width)).join(GAP), ...body];
}

/** Control characters in a value must not act on a terminal. */
function shownValue(json: string): string {
  const text: unknown = json.startsWith('"') ? JSON.parse(json) : json === 'null' ? '' : json;
  return printable(String(text));
}

function clipped(text: string): string {
  const characters = Array.from(text);
  return characters.length <= CELL_MAX ? text : `${characters.slice(0, CELL_MAX - 1).join('')}…`;
}

function widthOf(text: string): number {
  return Array.from(text).length;
}
