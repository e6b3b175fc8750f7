import type { Lexicon } from '../../sql/scanner.ts';

/** How SQLite reads SQL. Names in brackets and variables of other languages are not among it, and so are refused. */
export const lexicon: Lexicon = {
  name: 'SQLite',
  quotes: {
    "'": { kind: 'text', hasEscapes: false },
    '"': { kind: 'name', hasEscapes: false },
    '`': { kind: 'name', hasEscapes: false },
  },
  lineComments: [{ start: '--', needsSpace: false }],
  activeComments: [],
  operators: '+-*/%=<>!&|~(),.;',
  variables: [],
};
