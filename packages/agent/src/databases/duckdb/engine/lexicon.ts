import type { Lexicon } from '../../sql/scanner.ts';

/** How DuckDB reads SQL, without texts between dollar signs and E'' texts, which are refused. */
export const lexicon: Lexicon = {
  name: 'DuckDB',
  quotes: {
    "'": { kind: 'text', hasEscapes: false },
    '"': { kind: 'name', hasEscapes: false },
  },
  lineComments: [{ start: '--', needsSpace: false }],
  activeComments: [],
  operators: '+-*/%=<>!&|^~@#(),.;[]{}',
  colons: /::|:=|:(?![A-Za-z_])/y,
  variables: [],
};
