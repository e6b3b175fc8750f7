import type { Param } from '../../../capabilities/model.ts';
import { fillTemplate } from '../template.ts';
import { cutAtParameters, namesOfParameters } from '../named-parameters.ts';
import { scanSql, type Lexicon, type SqlToken } from '../scanner.ts';
import { probeTexts, type ProbeRules } from './probe-texts.ts';

/** A SELECT of values alone. If it fails in the same way as a query, the values are at fault and not the data. */
export interface ValueProbe {
  readonly text: string;
  /** For each placeholder the index of a parameter of the statement. */
  readonly params: readonly number[];
}

/** With the indices of the parameters that a statement has; none of those that need another. */
export function probesWith(probes: readonly ValueProbe[], present: readonly number[]): readonly ValueProbe[] {
  return probes.flatMap(({ text, params }) => {
    const moved = params.map((index) => present.indexOf(index));
    return moved.includes(-1) ? [] : [{ text, params: moved }];
  });
}

export interface ProbeDialect {
  readonly lexicon: Lexicon;
  readonly rules: ProbeRules;
  /** The statement that is sent for an expression. */
  select(expression: string): string;
  /** The placeholder of the `number`th parameter of a probe, from 1 on, at that index of the tokens. */
  placeholder(number: number, param: Param, tokens: readonly SqlToken[], index: number): string;
  /** Whether a parameter in several places is sent once for each. */
  readonly isPositional: boolean;
}

type ProbedParam = Param & { readonly isList?: true };

/** The most probes of a statement: each may be run for a call that has failed. */
const MOST_PROBES = 32;

/**
 * `params` are those of the statement, in the order by which probes name them. There are none of a parameter that is a list
 * of SQL: it is written otherwise than by a placeholder.
 */
export function valueProbes(
  sql: string,
  tokens: readonly SqlToken[],
  params: readonly ProbedParam[],
  dialect: ProbeDialect,
): readonly ValueProbe[] {
  return probeTexts(sql, tokens, dialect.rules)
    .slice(0, MOST_PROBES)
    .flatMap((expression) => probeOf(dialect.select(expression), params, dialect) ?? []);
}

function probeOf(sql: string, params: readonly ProbedParam[], dialect: ProbeDialect): ValueProbe | undefined {
  const scanned = scanSql(sql, dialect.lexicon);
  if (!scanned.ok) return undefined;
  const { tokens } = scanned;
  const names = namesOfParameters(tokens);
  if (params.some(({ name, isList }) => isList && names.includes(name))) return undefined;
  const cut = cutAtParameters(
    sql,
    tokens,
    tokens,
    params.filter(({ name }) => names.includes(name)),
  );
  if (!cut.ok) return undefined;
  const { template } = cut;
  const at = tokens.flatMap(({ kind }, index) => (kind === 'parameter' ? [index] : []));
  const placeholders = template.references.map((index, place) => ({
    number: index + 1,
    at: at[place] ?? -1,
  }));
  const { text } = fillTemplate(template, placeholders, ({ number, at: token }) => {
    const param = template.params[number - 1];
    return { text: param === undefined ? '' : dialect.placeholder(number, param, tokens, token) };
  });
  const indexOf = ({ name }: Param): number => params.findIndex((param) => param.name === name);
  const sent = dialect.isPositional
    ? template.references.flatMap((index) => template.params[index] ?? [])
    : template.params;
  return { text, params: sent.map(indexOf) };
}
