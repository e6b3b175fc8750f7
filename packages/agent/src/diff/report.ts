import { styleText } from 'node:util';
import { counted, printable } from '@svc/edge';
import type { Fault } from '../capabilities/fault.ts';
import { SEVERITIES, type Change, type Severity } from './change.ts';

export interface Comparison {
  readonly old: string;
  readonly now: string;
  readonly failOn: string;
  readonly changes: readonly Change[];
  readonly notes: readonly string[];
  /** Why nothing was compared. */
  readonly faults: readonly (Fault & { readonly file: string })[];
  /** Whether the answer is yes. */
  readonly ok: boolean;
}

const COLOURS = { breaking: 'red', risky: 'yellow', compatible: 'green' } as const;
const WIDTH = Math.max(...SEVERITIES.map(({ length }) => length));

/** One JSON document. */
export function jsonReport({ ok, old, now, failOn, changes, notes, faults }: Comparison): string {
  const report = {
    ok,
    old,
    new: now,
    fail_on: failOn,
    ...Object.fromEntries(SEVERITIES.map((severity) => [severity, countOf(changes, severity)])),
    changes,
    notes,
    faults: faults.map(({ file, path, message, position }) => ({ file, path, message, ...position })),
  };
  return `${printable(JSON.stringify(report))}\n`;
}

/** A line for each change, then how many there are. */
export function textReport({ changes, notes }: Comparison, hasColours: boolean): string {
  const word = (severity: Severity): string => {
    const padded = severity.padEnd(WIDTH);
    return hasColours ? styleText(COLOURS[severity], padded) : padded;
  };
  const counts = SEVERITIES.map((severity) => `${countOf(changes, severity)} ${severity}`).join(', ');
  return [
    ...changes.map(({ severity, path, message }) => `${word(severity)}  ${printable(`${path}: ${message}`)}`),
    changes.length === 0 ? 'no changes' : `${counted(changes.length, 'change', 'changes')}: ${counts}`,
    ...notes.map((note) => `note: ${note}`),
    '',
  ].join('\n');
}

function countOf(changes: readonly Change[], wanted: Severity): number {
  return changes.filter(({ severity }) => severity === wanted).length;
}
