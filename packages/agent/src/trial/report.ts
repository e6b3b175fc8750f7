import { counted, printable } from '@svc/edge';
import type { Capability } from '../capabilities/model.ts';
import type { QueryPlan } from '../databases/driver/explain.ts';
import type { LocalPrincipal } from './local-caller.ts';
import type { TrialOutcome } from './open-trial.ts';
import { tableOf } from './table.ts';

interface Output {
  write(text: string): unknown;
}

/** What a report is about, and where it goes. */
export interface ReportPlace {
  readonly capability: string;
  /** Only a terminal gets database text. */
  readonly stdout: Output & { readonly isTTY?: boolean };
  /** For what is wrong; never gets database text. */
  readonly stderr: Output;
}

/** What `svc-agent try` says. */
export interface TryReport {
  answered(call: AnsweredCall): void;
}

interface AnsweredCall {
  readonly capability: Capability;
  /** Without a property where the command line says nothing. */
  readonly principal: LocalPrincipal;
  readonly outcome: TrialOutcome;
  /** Whether what came back is a `QueryPlan`. */
  readonly isPlan: boolean;
  /** Where the database says more of an error; empty if it does not, or the terminal shows it. */
  readonly more: { readonly log?: string; readonly details?: string };
}

/** Lines for people. */
export function textReport({ stdout, stderr }: ReportPlace): TryReport {
  const say = (line: string): unknown => stdout.write(`${line}\n`);
  const details = stdout.isTTY === true;
  return {
    answered({ capability, principal, outcome, isPlan, more }) {
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
        for (const line of planLines(planOf(outcome.rows), details)) say(line);
        return;
      }
      const { rows, count, truncated } = outcome;
      for (const line of tableOf(
        capability.result.map(({ name }) => name),
        rows,
      ))
        say(line);
      say('');
      say(
        [
          counted(count, 'row', 'rows'),
          ms,
          counted(rows.length, 'byte', 'bytes'),
          `some ${counted(tokensOf(rows), 'token', 'tokens')}`,
        ].join(', '),
      );
      const { maxRows, maxBytes } = capability.limits;
      if (truncated)
        say(
          `truncated: there are more rows than max_rows (${maxRows}) and max_bytes (${maxBytes}) let through`,
        );
    },
  };
}

/** One JSON object for programs. */
export function jsonReport({ capability, stdout }: ReportPlace): TryReport {
  return {
    answered({ principal, outcome, isPlan, more }) {
      const common = {
        ok: outcome.kind === 'rows',
        capability,
        ...(Object.keys(principal).length > 0 ? { principal: { ...principal, verified: false } } : {}),
        duration_ms: Math.round(outcome.durationMs * 1000) / 1000,
      };
      if (outcome.kind === 'error') {
        const { code, message } = outcome;
        stdout.write(`${JSON.stringify({ ...common, error: { code, message }, ...more })}\n`);
        return;
      }
      if (isPlan) {
        const { findings, ...plan } = planOf(outcome.rows);
        const shown =
          stdout.isTTY === true
            ? { findings, plan }
            : { findings: findings.map(({ kind, message }) => ({ kind, message })) };
        stdout.write(`${JSON.stringify({ ...common, ...shown })}\n`);
        return;
      }
      const { rows, count, truncated } = outcome;
      const figures = { ...common, count, truncated, bytes: rows.length, tokens: tokensOf(rows) };
      // The rows as they are: a JavaScript number does not hold each of theirs.
      stdout.write(`${JSON.stringify(figures).slice(0, -1)},"rows":${Buffer.from(rows).toString()}}\n`);
    },
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
  const plan: QueryPlan = JSON.parse(Buffer.from(rows).toString());
  return plan;
}

function tokensOf(rows: Uint8Array): number {
  return Math.ceil(rows.length / 4);
}

function nameOf({ key_name: key, issuer, subject, claims }: LocalPrincipal): string {
  const named = Object.entries({ key, issuer, subject }).flatMap(([what, value]) =>
    value === undefined ? [] : [`${what} ${printable(value)}`],
  );
  const claimed = Object.entries(claims ?? {}).map(([name, value]) =>
    printable(`${name}=${JSON.stringify(value)}`),
  );
  return [...named, ...(claimed.length > 0 ? [`claims ${claimed.join(' ')}`] : [])].join(', ');
}
