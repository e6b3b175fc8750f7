/** The parts of a dialect that its scanner has to know. */
export interface Lexicon {
  /** For messages. */
  readonly name: string;
  /** Each opens and closes a quoted text or name. Doubled it stands for itself. */
  readonly quotes: Readonly<Record<string, Quote>>;
  readonly lineComments: readonly LineComment[];
  /** The beginnings of comments whose text servers execute. */
  readonly activeComments: readonly string[];
  /** Every other character that is allowed outside of quotes and comments. */
  readonly operators: string;
  /** Colons that begin no parameter, as in a cast. A dialect with these also has colons between values. */
  readonly colons?: RegExp;
  /** Variables that may be read, as they are written. */
  readonly variables: readonly string[];
}

interface Quote {
  readonly kind: 'text' | 'name';
  /** Whether a backslash escapes the next character. */
  readonly hasEscapes: boolean;
}

interface LineComment {
  readonly start: string;
  /** Whether it needs a space or the end of the text after it. */
  readonly needsSpace: boolean;
}

export interface SqlToken {
  readonly kind: 'word' | 'name' | 'text' | 'number' | 'operator' | 'parameter' | 'variable' | 'comment';
  /** As written; a name without its quotes. */
  readonly text: string;
  /** In UTF-16 units. */
  readonly start: number;
  readonly end: number;
}

export type ScanResult =
  | { readonly ok: true; readonly tokens: readonly SqlToken[] }
  | { readonly ok: false; readonly problem: string };

/** All servers take only tabs and line ends for spaces, and none of them for the end of the text. */
// oxlint-disable-next-line no-control-regex
const CONTROL = /[\0-\u0008\u000b\u000c\u000e-\u001f\u007f]/;
const SPACE = /[ \t\r\n]+/y;
const PARAMETER = /:([A-Za-z_][A-Za-z0-9_]*)/y;
/** Takes every character that could continue the name. */
const VARIABLE = /@[A-Za-z0-9_$.\u0080-\uffff]*/y;
const NUMBER = /0[xX][0-9a-fA-F]+|0[bB][01]+|(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?/y;
const WORD = /[A-Za-z0-9_$\u0080-\uffff]+/y;
const HEXADECIMAL = /^'(?:[0-9a-fA-F]{2})*'$/;

/**
 * Tells texts, names, comments and words apart as the server does. What one server or setting could read otherwise than
 * another is refused, so that what is not refused has one reading.
 */
export function scanSql(sql: string, lexicon: Lexicon): ScanResult {
  if (CONTROL.test(sql) || Buffer.from(sql, 'utf8').toString('utf8') !== sql) {
    return refused(
      'contains characters that no SQL needs: remove control characters and unpaired surrogates',
    );
  }
  const tokens: SqlToken[] = [];
  let at = 0;
  while (at < sql.length) {
    const space = lengthOf(SPACE, sql, at);
    if (space > 0) {
      at += space;
      continue;
    }
    const token = readToken(sql, at, lexicon);
    if (typeof token === 'string') return refused(token);
    const before = tokens.at(-1);
    if (before?.end === at) {
      const problem =
        (lexicon.colons === undefined ? undefined : problemOfColon(before, token)) ??
        problemOfNeighbours(before, token, tokens.at(-2));
      if (problem !== undefined) return refused(problem);
    }
    tokens.push(token);
    at = token.end;
  }
  return { ok: true, tokens };
}

/** Returns a text if something is wrong there. */
function readToken(sql: string, at: number, lexicon: Lexicon): SqlToken | string {
  const comment = readComment(sql, at, lexicon);
  if (comment !== undefined) return comment;
  const character = sql[at] ?? '';
  const quote = Object.hasOwn(lexicon.quotes, character) ? lexicon.quotes[character] : undefined;
  if (quote !== undefined) return readQuoted(sql, at, quote);
  const number = lengthOf(NUMBER, sql, at);
  if (number > 0) return tokenOf('number', sql, at, at + number);
  const word = lengthOf(WORD, sql, at);
  if (word > 0) return tokenOf('word', sql, at, at + word);
  const colon = lexicon.colons === undefined ? 0 : lengthOf(lexicon.colons, sql, at);
  if (colon > 0) return tokenOf('operator', sql, at, at + colon);
  if (character === ':') {
    const parameter = lengthOf(PARAMETER, sql, at);
    if (parameter > 0) return tokenOf('parameter', sql, at, at + parameter);
    return 'has a colon that begins no parameter: write parameters as :name';
  }
  if (character === '@') {
    const end = at + lengthOf(VARIABLE, sql, at);
    if (lexicon.variables.includes(sql.slice(at, end))) return tokenOf('variable', sql, at, end);
  }
  if (character === '?') return 'uses ?: write parameters as :name';
  if (lexicon.operators.includes(character)) return tokenOf('operator', sql, at, at + 1);
  return `has the character ${character} outside of quotes, where ${lexicon.name} may give it a meaning of its own: remove it`;
}

function readComment(sql: string, at: number, lexicon: Lexicon): SqlToken | string | undefined {
  const line = lexicon.lineComments.find(
    ({ start, needsSpace }) =>
      sql.startsWith(start, at) && (!needsSpace || /^[ \t\r\n]?$/.test(sql.charAt(at + start.length))),
  );
  if (line !== undefined) {
    const end = sql.indexOf('\n', at);
    return tokenOf('comment', sql, at, end < 0 ? sql.length : end);
  }
  if (!sql.startsWith('/*', at)) return undefined;
  if (lexicon.activeComments.some((start) => sql.startsWith(start, at))) {
    return `has a comment that ${lexicon.name} acts upon, as /*! and /*+ begin them: write a plain comment`;
  }
  const end = sql.indexOf('*/', at + 2);
  if (end < 0) return 'has a comment without its end: close it with */';
  // Servers of one kind nest comments and others do not.
  if (sql.slice(at + 2, end + 1).includes('/*')) return 'has a comment within a comment: remove one';
  return tokenOf('comment', sql, at, end + 2);
}

function readQuoted(sql: string, at: number, { kind, hasEscapes }: Quote): SqlToken | string {
  const quote = sql.charAt(at);
  let text = '';
  for (let next = at + 1; next < sql.length; next += 1) {
    const character = sql.charAt(next);
    if (character === '\\' && hasEscapes) {
      next += 1;
    } else if (character === quote) {
      if (sql[next + 1] !== quote) {
        if (kind === 'text') return tokenOf('text', sql, at, next + 1);
        return { kind, text, start: at, end: next + 1 };
      }
      next += 1;
    }
    text += character;
  }
  return `has a quote without its end: close it with ${quote}`;
}

/** A colon of a slice, a struct or an alias that could also begin a parameter. */
function problemOfColon(before: SqlToken, token: SqlToken): string | undefined {
  const isValue = before.kind !== 'operator' || /^[)\]}]$/.test(before.text);
  if (token.kind === 'parameter' && isValue && before.kind !== 'comment') {
    return 'has a colon that may begin a parameter or separate two values: write `: name` for a column, `: :name` for a parameter';
  }
  if (before.kind === 'parameter' && token.text === ':') {
    return 'has a colon directly after a parameter: write a space before it, as in `[:first : :last]`';
  }
  return undefined;
}

/** Tokens without a space between them that could be read as one or as two. */
function problemOfNeighbours(
  before: SqlToken,
  token: SqlToken,
  beforeThat: SqlToken | undefined,
): string | undefined {
  const isWordy = (kind: SqlToken['kind']): boolean => kind === 'word' || kind === 'number';
  if (before.kind === 'number' && (isWordy(token.kind) || token.text === '.')) {
    return 'has a number with text directly after it: write a space between them, or quote a name that begins with a digit';
  }
  if (token.kind === 'number' && token.text.startsWith('.') && before.kind !== 'operator') {
    return 'has a name that begins with a digit after a dot: quote it';
  }
  const isReplaced = (kind: SqlToken['kind']): boolean => kind === 'parameter' || kind === 'variable';
  if (isReplaced(before.kind) || isReplaced(token.kind)) {
    const other = isReplaced(before.kind) ? token : before;
    if (isWordy(other.kind) || isReplaced(other.kind) || other.kind === 'text' || other.kind === 'name') {
      return 'has a parameter with text directly beside it: write a space between them';
    }
  }
  if (token.kind === 'text' && before.kind === 'word') {
    const isPlain = /^_[A-Za-z0-9]+$/.test(before.text);
    const isHexadecimal = /^[xX]$/.test(before.text) && HEXADECIMAL.test(token.text);
    if ((!isPlain && !isHexadecimal) || beforeThat?.text === '.') {
      return 'has a quoted text directly after a word: write a space between them';
    }
  }
  return undefined;
}

function lengthOf(pattern: RegExp, sql: string, at: number): number {
  pattern.lastIndex = at;
  return pattern.exec(sql)?.[0].length ?? 0;
}

function tokenOf(kind: SqlToken['kind'], sql: string, start: number, end: number): SqlToken {
  return { kind, text: sql.slice(start, end), start, end };
}

function refused(problem: string): ScanResult {
  return { ok: false, problem };
}
