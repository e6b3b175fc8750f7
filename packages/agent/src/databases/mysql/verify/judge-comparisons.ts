import type { Capability, ParamSchema } from '../../../capabilities/model.ts';
import type { ParameterFault } from '../../sql/create-template.ts';
import { comparisonOf, type Comparison } from '../../sql/places/comparisons.ts';
import { probeOf } from '../../sql/places/probe.ts';
import { takesNumbersAlone } from '../../sql/places/takes-numbers.ts';
import { isWord } from '../../sql/places/tokens.ts';
import type { PlacedParam } from '../execute/prepared-query.ts';
import type { Column } from './columns.ts';
import { kindOfColumn, type ColumnKind } from './convert-column.ts';
import type { ReadStatement } from './read-statement.ts';

const OR = ['|', '&'];

export type JudgedComparisons =
  | { readonly ok: true; readonly params: readonly PlacedParam[] }
  | { readonly ok: false; readonly faults: readonly ParameterFault[] };

/**
 * Looks up what each parameter is compared with: the servers convert whatever they compare, and read a text that is no
 * number as 0. `columnOf` tells what a SELECT yields, undefined where the server does not take it.
 */
export async function judgeComparisons(
  { sql, params: declared }: Capability,
  { select: { body }, params }: ReadStatement,
  columnOf: (probe: string) => Promise<Column | undefined>,
): Promise<JudgedComparisons> {
  const faults = new Map<string, ParameterFault>();
  const placed: PlacedParam[] = [];
  const indexes = body.flatMap(({ kind }, index) =>
    kind === 'parameter' || kind === 'variable' ? [index] : [],
  );
  for (const [at, param] of params.entries()) {
    const comparison = comparisonOf(body, indexes[at] ?? -1, OR);
    const isDeclared = declared.some(({ name }) => name === param.name);
    const column = comparison && isDeclared ? await columnIn(sql, body, comparison, columnOf) : undefined;
    const kind = column && kindOfColumn(column);
    const scalar = param.isList === true ? (param.schema.items ?? { type: 'string' }) : param.schema;
    const message =
      column && kind && comparison ? problemOf(scalar, kind, comparison, column.isStored) : undefined;
    if (message !== undefined) faults.set(param.name, { param: param.name, message });
    placed.push(kind === 'text' && column?.isStored && scalar.type === 'integer' ? asText(param) : param);
  }
  return faults.size > 0 ? { ok: false, faults: [...faults.values()] } : { ok: true, params: placed };
}

async function columnIn(
  sql: string,
  body: ReadStatement['select']['body'],
  { start, end }: Comparison,
  columnOf: (probe: string) => Promise<Column | undefined>,
): Promise<Column | undefined> {
  if (body.slice(start, end).some(({ kind }) => kind === 'parameter' || kind === 'variable'))
    return undefined;
  const column = await columnOf(probeOf(sql, body, start, end));
  if (column === undefined) return undefined;
  // What an inner SELECT gives is no column of a table to the server; by its name it is one here.
  const isNamed = body
    .slice(start, end)
    .every(({ kind, text }) => kind === 'name' || kind === 'word' || text === '.');
  const isInner = body.slice(0, start).filter((token) => isWord(token, /^select$/i)).length > 1;
  return { ...column, isStored: isNamed && (column.isStored || isInner) };
}

/** As text an integer finds its own digits alone; as a number it would find the texts that the server reads as that number. */
function asText(param: PlacedParam): PlacedParam {
  const text: ParamSchema = { type: 'string' };
  return { ...param, schema: param.isList === true ? { ...param.schema, items: text } : text };
}

function problemOf(
  schema: ParamSchema,
  kind: ColumnKind,
  { isEquality }: Comparison,
  isStored: boolean,
): string | undefined {
  const { type } = schema;
  const declared = `is ${type}, but is compared with`;
  switch (kind) {
    case 'number':
      if (['integer', 'number', 'boolean'].includes(type) || takesNumbersAlone(schema)) return undefined;
      return `${declared} a number, which would read other texts as 0: declare it integer or number`;
    case 'text':
      if (['string', 'uuid', 'date', 'datetime'].includes(type)) return undefined;
      // An expression, such as date_format, may give numbers alone.
      if (type !== 'boolean' && (!isStored || (type === 'integer' && isEquality))) return undefined;
      return type === 'boolean'
        ? `${declared} a text: declare it string`
        : `${declared} a text, which would be read as a number, and as 0 where it is none: declare it string, or cast the text, as in cast(x as signed)`;
    case 'bytes':
      if (!['integer', 'number', 'boolean'].includes(type)) return undefined;
      return `${declared} bytes: declare it string`;
    case 'date':
    case 'moment':
      if (type === 'date' || type === 'datetime') return undefined;
      return `${declared} a ${kind === 'date' ? 'date' : 'time'}, which other values are not: declare it ${kind === 'date' ? 'date' : 'datetime'}`;
    case 'time':
      if (type === 'string' && (schema.pattern !== undefined || schema.enum !== undefined)) return undefined;
      return `${declared} a time of day, and other texts would be read as 00:00:00: declare it string with a pattern, such as ^[0-9]{2}:[0-9]{2}:[0-9]{2}$`;
    default:
      return undefined;
  }
}
