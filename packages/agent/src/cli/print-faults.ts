import type { Fault } from '../config/fault.ts';

/** Writes one line per fault: `capability.yaml:12:5  capabilities.x.sql: is required`. */
export function printFaults(
  faults: readonly Fault[],
  stream: { write(text: string): unknown },
  file: string,
): void {
  for (const { path, message, position } of faults) {
    const place = position === undefined ? file : `${file}:${position.line}:${position.column}`;
    stream.write(`${place}  ${path === '' ? '' : `${path}: `}${message}\n`);
  }
}
