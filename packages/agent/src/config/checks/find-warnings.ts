import type { Fault, Position } from '../../capabilities/fault.ts';
import type { CapabilityFile } from '../capability-file.ts';
import type { FaultLog } from '../fault-log.ts';

/** Everything that may hold `--`: quoted texts and comments. */
const SKIPPED = /'(?:[^']|'')*'|"[^"]*"|\$(\w*)\$[^]*?\$\1\$|\/\*[^]*?\*\/|--[^\n]*/g;

/** Mistakes that a file without faults may still have. */
export function findWarnings(file: CapabilityFile, faults: FaultLog): readonly Fault[] {
  return [...swallowed(file, faults), ...undescribed(file, faults), ...neverCut(file, faults)];
}

function swallowed({ capabilities }: CapabilityFile, faults: FaultLog): readonly Fault[] {
  return Object.keys(capabilities).flatMap((name) => {
    const path = ['capabilities', name, 'sql'];
    const { folded, value } = faults.placeOf(path) ?? {};
    const found = folded === undefined ? undefined : swallowingComment(folded);
    if (found === undefined || value === undefined) return [];
    const column = found.line === 0 ? value.column + found.column : found.column + 1;
    const message =
      'this comment swallows what follows, because YAML joins the lines of this text: write `sql: |`, or the comment as /* ... */';
    return [fault(path, message, { line: value.line + found.line, column })];
  });
}

/** One warning for all capabilities: a file for its author alone needs no descriptions. */
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

/** `next` comes with rows that were cut, and these never are. */
function neverCut({ capabilities }: CapabilityFile, faults: FaultLog): readonly Fault[] {
  return Object.entries(capabilities).flatMap(([name, { paging, policy }]) => {
    const hasPages = typeof paging === 'string' || Array.isArray(paging);
    if (!hasPages || policy?.on_limit !== 'error') return [];
    const path = ['capabilities', name, 'policy', 'on_limit'];
    const message = 'is `error` beside `paging`: too many rows fail, so no answer has a next page; remove it';
    return [fault(path, message, faults.placeOf(path)?.key)];
  });
}

function fault(path: readonly string[], message: string, position: Position | undefined): Fault {
  return { path: path.join('.'), message, ...(position === undefined ? {} : { position }) };
}

/**
 * The first `--` comment to which YAML joins the next line, which thus becomes part of the comment. `source` is the text in
 * the file; in a block, its first line has only the `>`.
 */
export function swallowingComment(
  source: string,
): { readonly line: number; readonly column: number } | undefined {
  const lines = source.split('\n');
  const isBlock = source.startsWith('>');
  const indent = isBlock ? indentOf(lines.slice(1).find((line) => line.trim() !== '') ?? '') : Infinity;
  // YAML does not join empty lines and those that are indented further.
  const isJoined = (line: string | undefined): boolean =>
    line !== undefined && line.trim() !== '' && indentOf(line) <= indent;
  for (const { 0: found, index } of source.matchAll(SKIPPED)) {
    if (!found.startsWith('--')) continue;
    const before = source.slice(0, index).split('\n');
    const line = before.length - 1;
    if (isJoined(lines[line]) && isJoined(lines[line + 1]))
      return { line, column: before.at(-1)?.length ?? 0 };
  }
  return undefined;
}

function indentOf(line: string): number {
  return line.length - line.trimStart().length;
}
