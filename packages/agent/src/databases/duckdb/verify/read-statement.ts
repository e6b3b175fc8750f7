import type { Capability, Param, ParamType } from '../../../capabilities/model.ts';
import { callerParams, reservedNames } from '../../sql/caller-variables.ts';
import { refused, type ReadResult } from '../../sql/fault-at.ts';
import { fillTemplate, type FilledTemplate } from '../../sql/template.ts';
import { cutAtParameters, namesOfParameters } from '../../sql/named-parameters.ts';
import { bodyOf } from '../../sql/one-select.ts';
import { isOperator, parameterIndexes } from '../../sql/places/tokens.ts';
import { scanSql, type SqlToken } from '../../sql/scanner.ts';
import type { EngineParam } from '../../engine-process/engine-queries.ts';
import { lexicon } from '../engine/lexicon.ts';
import { formOf, listOf, rowsOf, type ListForm } from './list-places.ts';

export interface ReadStatement {
  readonly fill: (typing: Typing) => FilledTemplate;
  /** The text with $1 for one reference and NULL for the others, which asks for its type. */
  readonly probe: (reference: number) => string;
  readonly references: readonly ParameterReference[];
  /** Without comments and without the semicolons at its end. */
  readonly body: readonly SqlToken[];
  readonly params: readonly EngineParam[];
  /** The parameters that name the caller and that the capability does not declare. */
  readonly callerParams: readonly string[];
}

/** One place of a parameter in the SQL. */
export interface ParameterReference {
  readonly number: number;
  readonly param: Param;
  /** The index of its token. */
  readonly index: number;
  /** For an array or an object. */
  readonly form?: ListForm;
}

/** The types that the text writes. */
export interface Typing {
  /** The types that DuckDB finds, in the order of the references; null if unknown. */
  readonly found: readonly (string | null)[];
  /** Numbers of the parameters that are cast to their declared type. */
  readonly untyped: ReadonlySet<number>;
  /** Other types to which references are cast. */
  readonly casts: ReadonlyMap<number, string>;
}

/** Finds the parameters. DuckDB's own parser judges what the statement does. */
export function readStatement(capability: Capability): ReadResult<ReadStatement> {
  const { sql } = capability;
  const scanned = scanSql(sql, lexicon);
  if (!scanned.ok) return refused(capability, { message: scanned.problem });
  const { tokens } = scanned;
  const body = bodyOf(tokens);
  const problem = problemOfBody(body);
  if (problem !== undefined) return refused(capability, { message: problem });
  const own = callerParams(namesOfParameters(body), capability);
  const cut = cutAtParameters(sql, tokens, body, [...capability.params, ...own]);
  const faults = [...reservedNames(capability), ...(cut.ok ? [] : cut.faults)];
  if (!cut.ok || faults.length > 0) return refused(capability, ...faults);
  const { template } = cut;
  const places = parameterIndexes(body);
  const references = template.references.flatMap((param, at): readonly ParameterReference[] => {
    const [declared, index = -1] = [template.params[param], places[at]];
    if (declared === undefined) return [];
    const { schema } = declared;
    const isList = schema.type === 'array' || schema.type === 'object';
    const form = isList ? { form: formOf(body, index, schema) } : {};
    return [{ number: param + 1, param: declared, index, ...form }];
  });
  const placeholders = references.map((reference, at) => ({ ...reference, at }));
  return {
    ok: true,
    read: {
      fill: (typing) =>
        fillTemplate(template, placeholders, (placeholder) => {
          const text = written(placeholder, placeholder.at, typing);
          return { text, offset: text.indexOf(`$${placeholder.number}`) };
        }),
      probe: (reference) =>
        fillTemplate(template, placeholders, ({ at }) => ({
          text: at === reference ? '$1' : 'NULL',
        })).text,
      references,
      body,
      params: template.params.map((param) => {
        const isList = references.some(
          (each) => each.param === param && each.form !== undefined && each.form !== 'json',
        );
        return isList ? { ...param, isList } : param;
      }),
      callerParams: own.map(({ name }) => name),
    },
  };
}

function written(reference: ParameterReference, at: number, typing: Typing): string {
  const { number, param, form } = reference;
  if (form === 'rows') return rowsOf(number, param.schema, typing.found[at] ?? null);
  if (form === 'list') return listOf(number, param.schema);
  const type = castOf(reference, at, typing);
  return type === undefined ? `$${number}` : `CAST($${number} AS ${type})`;
}

/** The type that a reference is cast to, if it is. */
export function castOf(
  { number, param: { schema } }: ParameterReference,
  at: number,
  typing: Typing,
): string | undefined {
  const isCast = schema.type === 'number' || typing.untyped.has(number);
  return typing.casts.get(at) ?? (isCast ? CASTS[schema.type] : undefined);
}

/** A number is always cast, since DuckDB would round it to the digits of the column it is compared with. */
export const CASTS: Readonly<Record<ParamType, string>> = {
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

function problemOfBody(body: readonly SqlToken[]): string | undefined {
  const first = body.find((token) => !isOperator(token, '('));
  if (first === undefined) return 'is empty: write one SELECT';
  if (first.kind !== 'word' || !/^(?:select|with|from|values)$/i.test(first.text))
    return 'is no SELECT: only one statement that begins with SELECT, WITH, FROM or VALUES is allowed';
  if (body.some((token) => isOperator(token, ';'))) return 'has more than one statement: write one SELECT';
  // DuckDB's own parameters, and texts between dollar signs.
  if (body.some(({ kind, text }) => kind === 'word' && text.includes('$')))
    return 'uses $: write parameters as :name, and texts between single quotes';
  return undefined;
}
