import { counted } from '@svc/edge';
import type { Fault } from '../capabilities/fault.ts';
import { LEVELS, type Finding, type Level } from './finding.ts';

/** Whether the answer is no: something is found at `failOn` or above it. */
export function fails(findings: readonly Finding[], failOn: Level): boolean {
  return findings.some(({ level }) => LEVELS.indexOf(level) <= LEVELS.indexOf(failOn));
}

/** A line for each finding, and the sum. */
export function textReport(file: string, findings: readonly Finding[]): string {
  if (findings.length === 0) return `${file}: nothing to say\n`;
  const lines = findings.map(({ level, rule, path, message, position }) => {
    const place = position === undefined ? file : `${file}:${position.line}:${position.column}`;
    return `${place}  ${level} ${rule}  ${path}: ${message}`;
  });
  const { error, warn, advice } = countsOf(findings);
  const sum = `${counted(error, 'error', 'errors')}, ${counted(warn, 'warning', 'warnings')}, ${advice} advice`;
  return `${[...lines, sum].join('\n')}\n`;
}

/** One JSON object for programs; `faults` keep the capabilities from being looked at, and `more` stands beside them. */
export function jsonReport(
  file: string,
  failOn: Level,
  findings: readonly Finding[],
  faults: readonly Fault[],
  more: object = {},
): string {
  const document = {
    ok: faults.length === 0 && !fails(findings, failOn),
    file,
    fail_on: failOn,
    counts: countsOf(findings),
    findings: findings.map(({ capability, capabilities, rule, level, path, message, position }) => ({
      ...(capability === '' ? {} : { capability }),
      ...(capabilities === undefined ? {} : { capabilities }),
      rule,
      level,
      ...position,
      path,
      message,
    })),
    faults: faults.map(({ path, message, position }) => ({ path, message, ...position })),
    ...more,
  };
  return `${JSON.stringify(document)}\n`;
}

function countsOf(findings: readonly Finding[]): Readonly<Record<Level, number>> {
  const count = (wanted: Level): number => findings.filter(({ level }) => level === wanted).length;
  return { error: count('error'), warn: count('warn'), advice: count('advice') };
}
