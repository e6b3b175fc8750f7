import type { ErrorCode } from 'yaml';

/**
 * A message of our own for each fault of YAML syntax: those of the library quote the text at fault,
 * which may be a secret that lacks its quotes.
 */
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

export function syntaxMessage(code: ErrorCode): string {
  return MESSAGES[code];
}
