import { scanSync } from 'libpg-query';

export interface Token {
  /** Offsets into the UTF-8 form of the text. */
  readonly start: number;
  readonly end: number;
  readonly text: string;
  readonly kind: TokenKind;
}

type TokenKind = 'name' | 'parameter' | 'comment' | 'text' | 'other';

const IDENT = 258;
const UIDENT = 259;
const TEXTS = new Set([261, 262]);
const PARAM = 267;
const COMMENTS = new Set([275, 276]);

/** The tokens as PostgreSQL's own scanner sees them; throws what it throws. The module must have been loaded. */
export function scan(text: string): readonly Token[] {
  return scanSync(text).tokens.map((token) => ({
    start: token.start,
    end: token.end,
    text: token.text,
    kind: kindOf(token.tokenType, token.keywordKind),
  }));
}

function kindOf(tokenType: number, keywordKind: number): TokenKind {
  if (tokenType === PARAM) return 'parameter';
  if (COMMENTS.has(tokenType)) return 'comment';
  if (TEXTS.has(tokenType)) return 'text';
  return tokenType === IDENT || tokenType === UIDENT || keywordKind !== 0 ? 'name' : 'other';
}
