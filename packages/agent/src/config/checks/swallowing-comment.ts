/** What may hold `--` without being a comment, or is one; the first that begins counts. */
const SKIPPED = /'(?:[^']|'')*'|"[^"]*"|\$(\w*)\$[^]*?\$\1\$|\/\*[^]*?\*\/|--[^\n]*/g;

/** Counted from 0. */
export interface Place {
  readonly line: number;
  readonly column: number;
}

/**
 * The first `--` comment of a statement whose next line YAML joins to it, so that it is a part of the comment. `source` is
 * the text as it stands in the file, with its `>` where it has one: the line that this is on is no text.
 */
export function swallowingComment(source: string): Place | undefined {
  const lines = source.split('\n');
  const isBlock = source.startsWith('>');
  const indent = isBlock ? indentOf(lines.slice(1).find((line) => line.trim() !== '') ?? '') : Infinity;
  // Lines that are indented further, and empty ones, are not joined.
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
