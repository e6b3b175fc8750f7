import { printable } from '@svc/edge';
import { wordsOf, type VerificationFault } from '../databases/driver/errors.ts';
import type { Log } from '../telemetry/log.ts';

export interface FaultPrinting {
  /** Stands before the path. */
  readonly kind?: string;
  /** Adds a line with what the database says; only for a terminal. */
  readonly details?: boolean;
  /** Adds, to a message of which the database says more, that this has it; a GRANT, which is SQL, stands there too. */
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
    // The details have it, too.
    const grant =
      remedy === undefined || details || log !== undefined ? '' : `; to grant it: ${printable(remedy)}`;
    stream.write(`${place}  ${kind}${path === '' ? '' : `${path}: `}${message}${grant}${more}\n`);
    if (details && words !== undefined) stream.write(`    ${printable(words)}\n`);
  }
}

/** As a member of a JSON object for programs, without what the database says. */
export function flatFault({ path, message, position, remedy }: VerificationFault): object {
  return { path, message, ...position, ...(remedy === undefined ? {} : { remedy }) };
}

/** With what the database says. */
export function logFaults(faults: readonly VerificationFault[], log: Log): void {
  for (const { path, message, detail = '', hint } of faults)
    log.observe({ event: 'startup_fault', path, message, detail, ...(hint === undefined ? {} : { hint }) });
}
