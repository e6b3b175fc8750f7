import type { Param } from '../../capabilities/model.ts';
import { createTemplate, type TemplateResult } from './template.ts';
import type { SqlToken } from './scanner.ts';

/** Cuts a scanned statement at its parameters. `body` is what `oneSelect` has left of its tokens. */
export function cutAtParameters(
  sql: string,
  tokens: readonly SqlToken[],
  body: readonly SqlToken[],
  declared: readonly Param[],
): TemplateResult {
  const bytes = (end: number): number => Buffer.byteLength(sql.slice(0, end));
  const references = body
    .filter(({ kind }) => kind === 'parameter' || kind === 'variable')
    .map(({ text, start, end }) => ({ name: text.slice(1), start: bytes(start), end: bytes(end) }));
  const textsOf = (kind: SqlToken['kind']): readonly string[] =>
    tokens.filter((token) => token.kind === kind).map(({ text }) => text);
  const end = bytes(body.at(-1)?.end ?? 0);
  return createTemplate(
    sql,
    { references, end, texts: textsOf('text'), comments: textsOf('comment'), faults: [] },
    declared,
  );
}

/** The name of each parameter, once, in the order of first use. */
export function namesOfParameters(tokens: readonly SqlToken[]): readonly string[] {
  return [...new Set(tokens.filter(({ kind }) => kind === 'parameter').map(({ text }) => text.slice(1)))];
}
