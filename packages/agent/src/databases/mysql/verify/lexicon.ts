import { CALLER_NAMES } from '../../sql/caller-variables.ts';
import type { Lexicon } from '../../sql/scanner.ts';

/**
 * How MariaDB and MySQL read SQL in a session of ours, whose sql_mode has neither ANSI_QUOTES nor NO_BACKSLASH_ESCAPES
 * and whose character set is utf8mb4: in another one a byte of a character could be taken for a quote.
 */
export const lexicon: Lexicon = {
  name: 'MySQL',
  quotes: {
    "'": { kind: 'text', hasEscapes: true },
    '"': { kind: 'text', hasEscapes: true },
    '`': { kind: 'name', hasEscapes: false },
  },
  lineComments: [
    { start: '#', needsSpace: false },
    { start: '--', needsSpace: true },
  ],
  activeComments: ['/*!', '/*M!', '/*+'],
  operators: '+-*/%=<>!&|^~(),.;',
  variables: CALLER_NAMES.map((name) => `@${name}`),
};
