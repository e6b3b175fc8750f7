import type { Position } from '../capabilities/fault.ts';

const MOST_CHARACTERS = 160;
/** A line outside the capabilities may hold a secret. */
const MAY_BE_SECRET = /(?:password|private_key|secret|token)/i;

/** The line at fault with a caret below; undefined if it is no help, or may hold a secret. */
export function sourceExcerpt(
  content: Uint8Array | undefined,
  path: string,
  position: Position | undefined,
): string | undefined {
  if (content === undefined || position === undefined) return undefined;
  const line = new TextDecoder().decode(content).split(/\r?\n/)[position.line - 1];
  if (line === undefined || line.length > MOST_CHARACTERS) return undefined;
  if (!path.startsWith('capabilities.') && MAY_BE_SECRET.test(line)) return undefined;
  const margin = `${position.line} | `;
  return `${margin}${line.replaceAll('\t', ' ')}\n${' '.repeat(margin.length + position.column - 1)}^`;
}
