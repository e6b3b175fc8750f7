import { printable } from '@svc/edge';
import type { VerificationFault } from '../databases/errors.ts';

export interface FaultPrinting {
  /** Stands before the path. */
  readonly kind?: string;
  /** Adds a line with what the database says; only for a terminal. */
  readonly details?: boolean;
}

/** Writes one line per fault: `capability.yaml:12:5  capabilities.x.sql: is required`. */
export function printFaults(
  faults: readonly VerificationFault[],
  stream: { write(text: string): unknown },
  file: string,
  { kind = '', details = false }: FaultPrinting = {},
): void {
  for (const { path, message, position, detail, hint } of faults) {
    const place = position === undefined ? file : `${file}:${position.line}:${position.column}`;
    stream.write(`${place}  ${kind}${path === '' ? '' : `${path}: `}${message}\n`);
    const said = [detail, hint].filter((text) => text !== undefined);
    if (details && said.length > 0) stream.write(`    ${printable(said.join('; '))}\n`);
  }
}

/** As a member of a JSON object for programs, without what the database says. */
export function flatFault({ path, message, position }: VerificationFault): object {
  return { path, message, ...position };
}
