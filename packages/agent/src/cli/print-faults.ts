import type { Fault } from '../capabilities/fault.ts';

/** Writes one line per fault: `capability.yaml:12:5  capabilities.x.sql: is required`; `kind` stands before the path. */
export function printFaults(
  faults: readonly Fault[],
  stream: { write(text: string): unknown },
  file: string,
  kind = '',
): void {
  for (const { path, message, position } of faults) {
    const place = position === undefined ? file : `${file}:${position.line}:${position.column}`;
    stream.write(`${place}  ${kind}${path === '' ? '' : `${path}: `}${message}\n`);
  }
}
