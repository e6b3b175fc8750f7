import type { Lexicon } from '../../sql/scanner.ts';

/** How SQLite reads SQL, without names in brackets and variables of other languages, which are refused. */
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
