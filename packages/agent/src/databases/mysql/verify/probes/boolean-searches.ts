import type { SqlToken } from '../../../sql/scanner.ts';

/** The names of parameters in `against (... in boolean mode)`, where the servers parse a text as a search. */
export function booleanSearches(body: readonly SqlToken[]): readonly string[] {
  const found = body.flatMap(({ kind, text }, index) => {
    if (kind !== 'word' || !/^against$/i.test(text) || body[index + 1]?.text !== '(') return [];
    const mode = body.findIndex(
      (token, at) => at > index && token.kind === 'word' && /^(?:boolean|natural|query)$/i.test(token.text),
    );
    if (!/^boolean$/i.test(body[mode]?.text ?? '')) return [];
    return body.slice(index, mode).filter((token) => token.kind === 'parameter');
  });
  return [...new Set(found.map(({ text }) => text.slice(1)))];
}
