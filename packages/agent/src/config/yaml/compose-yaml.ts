import { Composer, LineCounter, Parser, type CST, type ErrorCode } from 'yaml';
import type { Position } from '../../capabilities/fault.ts';

export const MAX_YAML_DEPTH = 64;

/** Those of the library quote the text at fault, which may be a secret that lacks its quotes. */
const MESSAGES: Readonly<Record<ErrorCode, string>> = {
  ALIAS_PROPS: 'an alias cannot have an anchor or a tag',
  BAD_ALIAS: 'the alias or anchor has no proper name; quote a text that begins with `*` or `&`',
  BAD_COLLECTION_TYPE: 'the tag does not fit what follows it; quote a text that begins with `!`',
  BAD_DIRECTIVE: 'unknown directive; quote a text that begins with `%`',
  BAD_DQ_ESCAPE: 'unknown escape in a text in double quotes; write `\\\\` for a backslash',
  BAD_INDENT: 'the indentation does not fit the lines around it',
  BAD_PROP_ORDER: 'an anchor or tag stands in the wrong place',
  BAD_SCALAR_START: 'a text that begins with this character must be quoted',
  BLOCK_AS_IMPLICIT_KEY: 'a mapping cannot stand here; quote a text that holds `: `',
  BLOCK_IN_FLOW: 'a block cannot stand inside `{}` or `[]`',
  DUPLICATE_KEY: 'this key stands twice: remove one of them',
  IMPOSSIBLE: 'cannot be read as YAML',
  KEY_OVER_1024_CHARS: 'a key must be shorter than 1024 characters',
  MISSING_CHAR: 'a character is missing here: a closing quote or bracket, a comma, or a space after `:`',
  MULTILINE_IMPLICIT_KEY:
    'a key must be on one line: is a `:` missing, or the space after it, or a closing quote?',
  MULTIPLE_ANCHORS: 'a value can have only one anchor',
  MULTIPLE_DOCS: 'the file must hold one document: remove the `---` that begins another',
  MULTIPLE_TAGS: 'a value can have only one tag',
  NON_STRING_KEY: 'a key must be plain text',
  RESOURCE_EXHAUSTION: 'the file is nested too deeply',
  TAB_AS_INDENT: 'a tab cannot indent: use spaces',
  TAG_RESOLVE_FAILED: 'unknown tag; quote a text that begins with `!`',
  UNEXPECTED_TOKEN: 'this cannot stand here: check the indentation and the quotes',
};

export interface ComposedYaml {
  /** The root node of the library; of use only without faults. */
  readonly contents: unknown;
  readonly faults: readonly { readonly position: Position; readonly message: string }[];
  readonly toPosition: (offset: number) => Position;
}

/** Parses one YAML 1.2 document. Errors and warnings of the library are faults. */
export function composeYaml(text: string): ComposedYaml {
  const lines = new LineCounter();
  const toPosition = (offset: number): Position => {
    const { line, col } = lines.linePos(offset);
    return { line: Math.max(line, 1), column: Math.max(col, 1) };
  };
  const fault = (offset: number, code: ErrorCode) => ({
    position: toPosition(offset),
    message: MESSAGES[code],
  });
  const tokens = parseTokens(text, lines);
  if (tokens === undefined) return { contents: null, faults: [fault(0, 'RESOURCE_EXHAUSTION')], toPosition };
  const deep = tooDeep(tokens);
  if (deep !== undefined)
    return { contents: null, faults: [fault(deep.offset, 'RESOURCE_EXHAUSTION')], toPosition };
  // `readMap` finds duplicate keys, in linear time.
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
 * The first token beyond the bound, found before the document is composed: composing recurses, and if the stack overflows
 * while V8 compiles a regular expression, the process ends.
 */
function tooDeep(tokens: readonly CST.Token[]): CST.Token | undefined {
  let level = tokens;
  for (let depth = 0; depth <= MAX_YAML_DEPTH; depth += 1) level = level.flatMap(inner);
  return level[0];
}

/** Where the quoted text that ends at `end` begins: the parser notices a missing quote only at the end of the file. */
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
