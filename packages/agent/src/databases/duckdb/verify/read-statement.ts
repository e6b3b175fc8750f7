import type { Capability, Param, ParamType } from '../../../capabilities/model.ts';
import type { VerificationFault } from '../../errors.ts';
import { callerParams, reservedNames } from '../../sql/caller-variables.ts';
import { faultAt } from '../../sql/fault-at.ts';
import { fillTemplate } from '../../sql/fill-template.ts';
import { cutAtParameters, namesOfParameters } from '../../sql/named-parameters.ts';
import { scanSql, type SqlToken } from '../../sql/scanner.ts';
import { lexicon } from '../engine/lexicon.ts';

export interface ReadStatement {
  /** The text with $1, $2 and so on for its parameters, those with the numbers `untyped` cast to their declared type. */
  readonly text: (untyped: ReadonlySet<number>) => string;
  /** Without comments and without the semicolons at its end. */
  readonly body: readonly SqlToken[];
  /** In the order of their numbers. */
  readonly params: readonly Param[];
  /** Those of the parameters that say who calls, and that the capability has not declared. */
  readonly callerParams: readonly string[];
}

export type ReadResult =
  | { readonly ok: true; readonly read: ReadStatement }
  | { readonly ok: false; readonly faults: readonly VerificationFault[] };

/** Finds the parameters; what the statement does, DuckDB's own parser says. */
export function readStatement(capability: Capability): ReadResult {
  const { sql } = capability;
  const scanned = scanSql(sql, lexicon);
  if (!scanned.ok) return refused(capability, scanned.problem);
  const { tokens } = scanned;
  const body = withoutEnd(tokens.filter(({ kind }) => kind !== 'comment'));
  const problem = problemOfBody(body);
  if (problem !== undefined) return refused(capability, problem);
  const own = callerParams(namesOfParameters(body), capability);
  const cut = cutAtParameters(sql, tokens, body, [...capability.params, ...own]);
  const faults = [...reservedNames(capability), ...(cut.ok ? [] : cut.faults)].map(({ param, ...fault }) =>
    faultAt(capability, fault, param),
  );
  if (!cut.ok || faults.length > 0) return { ok: false, faults };
  const { template } = cut;
  const placeholders = template.references.map((index) => ({ number: index + 1 }));
  const text = (untyped: ReadonlySet<number>): string =>
    fillTemplate(template, placeholders, ({ number }) => {
      const type = template.params[number - 1]?.schema.type ?? 'string';
      const isCast = type === 'number' || untyped.has(number);
      return { text: isCast ? `CAST($${number} AS ${CASTS[type]})` : `$${number}`, offset: 0 };
    }).text;
  return {
    ok: true,
    read: { text, body, params: template.params, callerParams: own.map(({ name }) => name) },
  };
}

/** A number is always cast: DuckDB would round it to the digits of the column that it is compared with. */
const CASTS: Readonly<Record<ParamType, string>> = {
  integer: 'BIGINT',
  number: 'DOUBLE',
  string: 'VARCHAR',
  uuid: 'VARCHAR',
  boolean: 'BOOLEAN',
  date: 'DATE',
  datetime: 'TIMESTAMP',
  array: 'JSON',
  object: 'JSON',
};

function withoutEnd(tokens: readonly SqlToken[]): readonly SqlToken[] {
  let end = tokens.length;
  while (tokens[end - 1]?.kind === 'operator' && tokens[end - 1]?.text === ';') end -= 1;
  return tokens.slice(0, end);
}

function problemOfBody(body: readonly SqlToken[]): string | undefined {
  const first = body.find(({ kind, text }) => kind !== 'operator' || text !== '(');
  if (first === undefined) return 'is empty: write one SELECT';
  if (first.kind !== 'word' || !/^(?:select|with|from|values)$/i.test(first.text))
    return 'is no SELECT: only one statement that begins with SELECT, WITH, FROM or VALUES is allowed';
  if (body.some(({ kind, text }) => kind === 'operator' && text === ';'))
    return 'has more than one statement: write one SELECT';
  // Parameters of DuckDB's own, and texts between dollar signs.
  if (body.some(({ kind, text }) => kind === 'word' && text.includes('$')))
    return 'uses $: write parameters as :name, and texts between single quotes';
  return undefined;
}

function refused(capability: Capability, message: string): ReadResult {
  return { ok: false, faults: [faultAt(capability, { message })] };
}
