import type { Fault, Position } from '../../capabilities/fault.ts';
import type { CapabilityFile } from '../capability-file.ts';
import type { FaultLog } from '../fault-log.ts';
import { swallowingComment } from './swallowing-comment.ts';

/** What a file without faults says, or leaves out, that is hardly meant. */
export function findWarnings(file: CapabilityFile, faults: FaultLog): readonly Fault[] {
  return [...swallowed(file, faults), ...undescribed(file, faults)];
}

function swallowed({ capabilities }: CapabilityFile, faults: FaultLog): readonly Fault[] {
  return Object.keys(capabilities).flatMap((name) => {
    const path = ['capabilities', name, 'sql'];
    const { folded, value } = faults.placeOf(path) ?? {};
    const found = folded === undefined ? undefined : swallowingComment(folded);
    if (found === undefined || value === undefined) return [];
    const column = found.line === 0 ? value.column + found.column : found.column + 1;
    const message =
      'this comment takes what follows with it, for the lines of this text are joined: write `sql: |`, or the comment as /* ... */';
    return [fault(path, message, { line: value.line + found.line, column })];
  });
}

/** One for all of them: a file that its author alone calls needs none. */
function undescribed({ capabilities }: CapabilityFile, faults: FaultLog): readonly Fault[] {
  const [first, ...others] = Object.entries(capabilities)
    .filter(
      ([, { description = '', expose_in_openapi: isShown }]) => isShown !== false && !description.trim(),
    )
    .map(([name]) => name);
  if (first === undefined) return [];
  const where = others.length === 0 ? '' : ` here and in ${others.length} more`;
  const message = `is missing${where}: callers and models choose by it`;
  const position = faults.placeOf(['capabilities', first])?.key;
  return [fault(['capabilities', first, 'description'], message, position)];
}

function fault(path: readonly string[], message: string, position: Position | undefined): Fault {
  return { path: path.join('.'), message, ...(position === undefined ? {} : { position }) };
}
