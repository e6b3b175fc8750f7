import { printable } from '@svc/edge';
import { wordsOf, type VerificationFault } from '../databases/driver/errors.ts';
import type { Log } from '../telemetry/log.ts';

export interface FaultPrinting {
  /** A prefix of the path. */
  readonly kind?: string;
  /** Adds a line with what the database says; for terminals only. */
  readonly details?: boolean;
  /** Names this log as the place of what else the database says; a missing GRANT is SQL and is there, too. */
  readonly log?: string;
}

/** Writes one line per fault: `capability.yaml:12:5  capabilities.x.sql: is required`. */
export function printFaults(
  faults: readonly VerificationFault[],
  stream: { write(text: string): unknown },
  file: string,
  { kind = '', details = false, log }: FaultPrinting = {},
): void {
  for (const fault of faults) {
    const { path, message, position, remedy } = fault;
    const place = position === undefined ? file : `${file}:${position.line}:${position.column}`;
    const words = wordsOf(fault);
    const more = words === undefined || log === undefined ? '' : `; ${log} has the details`;
    // What the database says includes the GRANT.
    const grant =
      remedy === undefined || details || log !== undefined ? '' : `; to grant it: ${printable(remedy)}`;
    stream.write(`${place}  ${kind}${path === '' ? '' : `${path}: `}${message}${grant}${more}\n`);
    if (details && words !== undefined) stream.write(`    ${printable(words)}\n`);
  }
}

/** For a JSON object, without what the database says. */
export function flatFault({ path, message, position, remedy }: VerificationFault): object {
  return { path, message, ...position, ...(remedy === undefined ? {} : { remedy }) };
}

export function logFaults(faults: readonly VerificationFault[], log: Log): void {
  for (const { path, message, detail = '', hint } of faults)
    log.observe({ event: 'startup_fault', path, message, detail, ...(hint === undefined ? {} : { hint }) });
}
