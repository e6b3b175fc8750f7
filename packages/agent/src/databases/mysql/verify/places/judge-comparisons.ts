import type { Capability, ParamSchema } from '../../../../capabilities/model.ts';
import type { ParameterFault } from '../../../sql/template.ts';
import { comparisonOf, type Comparison } from '../../../sql/places/comparisons.ts';
import { isNumberPlace } from '../../../sql/places/misplaced-scalars.ts';
import { operandsAround, type TokenRange } from '../../../sql/places/operands.ts';
import { takesNumbersAlone } from '../../../sql/places/takes-numbers.ts';
import { isWord, parameterIndexes } from '../../../sql/places/tokens.ts';
import type { SqlToken } from '../../../sql/scanner.ts';
import type { PlacedParam } from '../../execute/prepared-query.ts';
import type { Column } from '../columns.ts';
import { kindOfColumn, type ColumnKind } from '../convert-column.ts';
import {
  argumentsBeside,
  columnAt,
  isConstant,
  isOfDigits,
  isOfDocument,
  type ColumnOf,
} from './operand-kinds.ts';
import type { ReadStatement } from '../read-statement.ts';

const OR = ['|', '&'];

export type JudgedComparisons =
  | { readonly ok: true; readonly params: readonly PlacedParam[] }
  | { readonly ok: false; readonly faults: readonly ParameterFault[] };

/**
 * Looks up what each parameter is compared with, and what is made of it: the servers convert whatever they compare, and
 * read a text that is no number as 0.
 */
export async function judgeComparisons(
  capability: Capability,
  { select: { body }, params }: ReadStatement,
  columnOf: ColumnOf,
): Promise<JudgedComparisons> {
  const faults = new Map<string, ParameterFault>();
  const placed: PlacedParam[] = [];
  const expressions = { capability, body, columnOf };
  const indexes = parameterIndexes(body);
  for (const [at, param] of params.entries()) {
    const index = indexes[at] ?? -1;
    const comparison = comparisonOf(body, index, OR);
    const isDeclared = capability.params.some(({ name }) => name === param.name);
    const column = comparison && isDeclared ? await columnIn(expressions, comparison) : undefined;
    const kind = column && kindOfColumn(column);
    const scalar = param.isList === true ? (param.schema.items ?? { type: 'string' }) : param.schema;
    const isExact = comparison !== undefined && isReadExactly(body, comparison);
    const message =
      (column && kind && comparison
        ? problemOf(scalar, kind, comparison, column.isStored, isExact)
        : undefined) ?? (isDeclared ? await problemAround(expressions, index, scalar) : undefined);
    if (message !== undefined) faults.set(param.name, { param: param.name, message });
    placed.push(kind === 'text' && column?.isStored && scalar.type === 'integer' ? asText(param) : param);
  }
  return faults.size > 0 ? { ok: false, faults: [...faults.values()] } : { ok: true, params: placed };
}

/** What the server says of the expressions of one statement. */
interface Expressions {
  readonly capability: Capability;
  readonly body: readonly SqlToken[];
  readonly columnOf: ColumnOf;
}

async function columnIn(
  { capability, body, columnOf }: Expressions,
  range: TokenRange,
): Promise<Column | undefined> {
  const column = await columnAt(capability, body, range, columnOf);
  if (column === undefined) return undefined;
  // To the server, a column of an inner SELECT is no column of a table. Here its name makes it one.
  const isNamed = body
    .slice(range.start, range.end)
    .every(({ kind, text }) => kind === 'name' || kind === 'word' || text === '.');
  const isInner = body.slice(0, range.start).filter((token) => isWord(token, /^select$/i)).length > 1;
  return { ...column, isStored: isNamed && (column.isStored || isInner) };
}

/** Undefined if the kind is uncertain. */
async function kindOf(
  { capability, body, columnOf }: Expressions,
  range: TokenRange,
): Promise<ColumnKind | undefined> {
  if (isOfDocument(body, range)) return undefined;
  if (isOfDigits(body, range)) return 'number';
  const column = await columnAt(capability, body, range, columnOf);
  const kind = column && kindOfColumn(column);
  return kind === 'text' && isConstant(body, range) ? undefined : kind;
}

/** Whether a text there is read as its own number. */
function isReadExactly(body: readonly SqlToken[], range: TokenRange): boolean {
  return isConstant(body, range) || isOfDigits(body, range) || isOfDocument(body, range);
}

/**
 * An integer bound as text finds only its own digits. As a number it would find every text that the server reads as
 * that number.
 */
function asText(param: PlacedParam): PlacedParam {
  const text: ParamSchema = { type: 'string' };
  return { ...param, schema: param.isList === true ? { ...param.schema, items: text } : text };
}

function problemOf(
  schema: ParamSchema,
  kind: ColumnKind,
  { isEquality }: Comparison,
  isStored: boolean,
  isExact: boolean,
): string | undefined {
  const { type } = schema;
  const declared = `is ${type}, but is compared with`;
  switch (kind) {
    case 'number':
      if (['integer', 'number', 'boolean'].includes(type) || takesNumbersAlone(schema)) return undefined;
      return `${declared} a number, which would read other texts as 0: declare it integer or number`;
    case 'text':
      if (['string', 'uuid', 'date', 'datetime'].includes(type)) return undefined;
      if (type === 'boolean') return `${declared} a text: declare it string`;
      if (isStored ? type === 'integer' && isEquality : isExact) return undefined;
      return `${declared} a text, which would be read as a number, and as 0 where it is none: declare it string, or cast the text, as in cast(x as signed)`;
    case 'choice':
      if (!['integer', 'number', 'boolean'].includes(type)) return undefined;
      return `${declared} an ENUM or a SET, whose numbers are the positions in its list: declare it string, or write x + 0 for the place`;
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

/** What is wrong with an expression around a parameter. A text with a pattern or a format may be part of a number. */
async function problemAround(
  expressions: Expressions,
  index: number,
  { type, pattern, enum: choices, format }: ParamSchema,
): Promise<string | undefined> {
  const { body } = expressions;
  const isText = type === 'string' && (pattern ?? choices ?? format) === undefined;
  const own = isText ? 'text' : type === 'integer' || type === 'number' ? 'number' : undefined;
  if (own === undefined) return undefined;
  const alone = { start: index, end: index + 1 };
  for (const range of [alone, ...operandsAround(body, index, OR)]) {
    const comparison = range === alone ? undefined : comparisonOf(body, range.start, OR, range.end);
    const others = [...(comparison === undefined ? [] : [comparison]), ...argumentsBeside(body, range)];
    const isRead = isText && range !== alone && isNumberPlace(body, range.start, range.end);
    if (others.length === 0 && !isRead) continue;
    const kind = await kindOf(expressions, range);
    if (kind === undefined) continue;
    if (kind !== own) return undefined;
    if (isRead)
      return 'is part of a text that is read as a number here, and as 0 where it is none: declare it integer or number';
    for (const other of others) {
      const compared = await kindOf(expressions, other);
      if (isText && compared === 'number')
        return 'is part of a text that is compared with a number, and is read as 0 where it is none: declare it integer or number, or compare texts, as in cast(x as char)';
      if (!isText && compared === 'text')
        return 'is part of a number that is compared with a text, which is read as a number, and as 0 where it is none: cast the text, as in cast(x as signed)';
    }
  }
  return undefined;
}
