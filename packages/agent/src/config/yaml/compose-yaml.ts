import { Composer, LineCounter, Parser } from 'yaml';
import type { CST } from 'yaml';
import type { Position } from '../../capabilities/fault.ts';
import { syntaxMessage } from './syntax-message.ts';

/** Levels of mappings and lists within each other. */
export const MAX_YAML_DEPTH = 64;

export interface ComposedYaml {
  /** The root node of the library, to be read only when there are no faults. */
  readonly contents: unknown;
  readonly faults: readonly { readonly position: Position; readonly message: string }[];
  readonly toPosition: (offset: number) => Position;
}

/** Puts one YAML 1.2 document together; everything that the library finds wrong with its syntax is a fault. */
export function composeYaml(text: string): ComposedYaml {
  const lines = new LineCounter();
  const toPosition = (offset: number): Position => {
    const { line, col } = lines.linePos(offset);
    return { line: Math.max(line, 1), column: Math.max(col, 1) };
  };
  const fault = (offset: number, code: Parameters<typeof syntaxMessage>[0]) => ({
    position: toPosition(offset),
    message: syntaxMessage(code),
  });
  const tokens = parseTokens(text, lines);
  if (tokens === undefined) return { contents: null, faults: [fault(0, 'RESOURCE_EXHAUSTION')], toPosition };
  const deep = tooDeep(tokens);
  if (deep !== undefined) {
    return { contents: null, faults: [fault(deep.offset, 'RESOURCE_EXHAUSTION')], toPosition };
  }
  // Duplicate keys are found by the reader of the nodes, in linear time.
  const composer = new Composer({ prettyErrors: false, uniqueKeys: false });
  const [document, second] = composer.compose(tokens, true, text.length);
  const problems = document === undefined ? [] : [...document.errors, ...document.warnings];
  const faults = problems.map(({ code, pos }) => {
    const quote = code === 'MISSING_CHAR' ? openQuote(tokens, pos[0]) : undefined;
    return quote === undefined
      ? fault(pos[0], code)
      : { position: toPosition(quote), message: 'this quote is not closed' };
  });
  if (second !== undefined) faults.push(fault(second.range[0], 'MULTIPLE_DOCS'));
  return { contents: document?.contents ?? null, faults, toPosition };
}

function parseTokens(text: string, lines: LineCounter): CST.Token[] | undefined {
  try {
    return [...new Parser(lines.addNewLine).parse(text)];
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}

/**
 * The first token beyond the bound. It must be found before the document is composed, for composing
 * recurses, and a stack that runs out while a regular expression is compiled ends the process.
 */
function tooDeep(tokens: readonly CST.Token[]): CST.Token | undefined {
  let level = tokens;
  for (let depth = 0; depth <= MAX_YAML_DEPTH; depth += 1) level = level.flatMap(inner);
  return level[0];
}

/** Where the quoted text begins that ends at `end`: a missing quote is noticed at the end of the file only. */
function openQuote(tokens: readonly CST.Token[], end: number): number | undefined {
  for (let level = tokens; level.length > 0; level = level.flatMap(inner)) {
    const quoted = level.find(
      (token) =>
        (token.type === 'double-quoted-scalar' || token.type === 'single-quoted-scalar') &&
        token.offset + token.source.length === end,
    );
    if (quoted !== undefined) return quoted.offset;
  }
  return undefined;
}

function inner(token: CST.Token): readonly CST.Token[] {
  const children =
    'items' in token
      ? token.items.flatMap(({ key, value }) => [key, value])
      : [token.type === 'document' ? token.value : undefined];
  return children.filter((child) => child !== undefined && child !== null);
}
