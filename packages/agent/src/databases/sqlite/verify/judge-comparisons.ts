import type { Capability, ParamSchema } from '../../../capabilities/model.ts';
import type { ParameterFault } from '../../sql/template.ts';
import { comparisonOf, type Comparison } from '../../sql/places/comparisons.ts';
import { probeOf } from '../../sql/places/probe.ts';
import { takesNumbersAlone } from '../../sql/places/takes-numbers.ts';
import { isOperator, isWord } from '../../sql/places/tokens.ts';
import type { SqlToken } from '../../sql/scanner.ts';

/** The affinity of a column, or the result of a function, which has no affinity. */
type Kind = 'number' | 'boolean' | 'text' | 'number-value' | 'text-value';

const TEXT_FUNCTIONS =
  /^(?:char|concat|concat_ws|date|datetime|format|group_concat|hex|lower|ltrim|printf|quote|replace|rtrim|strftime|string_agg|substr|substring|time|timediff|trim|typeof|upper)$/i;
const NUMBER_FUNCTIONS =
  /^(?:count|instr|json_array_length|julianday|length|octet_length|sign|sqrt|sum|total|unicode|unixepoch|round)$/i;

/**
 * What is wrong with the types of parameters that are compared: SQLite converts a value only to what the column declares,
 * and else no text is the same as a number. `declaredTypeOf` tells the type that the column of a SELECT is declared with,
 * null for what is no column, and undefined where SQLite does not take the SELECT.
 */
export async function judgeComparisons(
  { sql, params }: Capability,
  body: readonly SqlToken[],
  declaredTypeOf: (probe: string) => Promise<string | null | undefined>,
): Promise<readonly ParameterFault[]> {
  const byName = new Map(params.map((param) => [`:${param.name}`, param]));
  const faults = new Map<string, ParameterFault>();
  for (const [index, { kind: token, text }] of body.entries()) {
    const param = token === 'parameter' ? byName.get(text) : undefined;
    const comparison = param && comparisonOf(body, index, []);
    if (param === undefined || comparison === undefined) continue;
    const kind =
      kindOfValue(body, comparison) ??
      kindOfColumn(await declaredTypeOf(probeOf(sql, body, comparison.start, comparison.end)));
    const { schema } = param;
    const scalar = schema.type === 'array' ? (schema.items ?? { type: 'string' }) : schema;
    // SQLite converts a single value for the column, but not the values of a subquery.
    const isList = schema.type === 'array';
    const message = kind && problemOf(scalar, kind, comparison.isEquality && !(isList && kind === 'text'));
    if (message !== undefined) faults.set(param.name, { param: param.name, message });
  }
  return [...faults.values()];
}

function kindOfValue(body: readonly SqlToken[], { start, end }: Comparison): Kind | undefined {
  const tokens = body.slice(start, end);
  if (tokens.some((token, index) => isOperator(token, '|') && isOperator(tokens[index + 1], '|')))
    return 'text-value';
  const [name, opening] = tokens;
  if (!isOperator(opening, '(') || !isOperator(tokens.at(-1), ')') || name?.kind !== 'word') return undefined;
  if (isWord(name, /^cast$/i)) return kindOfColumn(tokens.at(-2)?.text);
  if (TEXT_FUNCTIONS.test(name.text)) return 'text-value';
  return NUMBER_FUNCTIONS.test(name.text) ? 'number-value' : undefined;
}

/** SQLite's rules for affinity. Columns that may hold anything, such as NUMERIC and dates, have no kind. */
function kindOfColumn(declared: string | null | undefined): Kind | undefined {
  if (declared === undefined || declared === null) return undefined;
  if (/int/i.test(declared)) return 'number';
  if (/char|clob|text/i.test(declared)) return 'text';
  if (/real|floa|doub/i.test(declared)) return 'number';
  return /^bool/i.test(declared) ? 'boolean' : undefined;
}

function problemOf(schema: ParamSchema, kind: Kind, isEquality: boolean): string | undefined {
  const { type } = schema;
  const isNumber = type === 'integer' || type === 'number' || type === 'boolean';
  const declared = `is ${type}, but is compared with`;
  switch (kind) {
    case 'number':
      if (isNumber || takesNumbersAlone(schema) || (type === 'string' && isEquality)) return undefined;
      return `${declared} a number, which sorts before every text that is no number: declare it integer or number`;
    case 'boolean':
      return isNumber ? undefined : `${declared} a boolean, which is the number 0 or 1: declare it boolean`;
    case 'number-value':
      return isNumber
        ? undefined
        : `${declared} a number, which no text is the same as: declare it integer or number`;
    case 'text-value':
      return isNumber
        ? `${declared} a text, which no number is the same as: declare it string, or cast the text, as in cast(x as integer)`
        : undefined;
    case 'text':
      if (!isNumber || (type === 'integer' && isEquality)) return undefined;
      return `${declared} a text, and would be compared as a text: declare it string, or cast the text, as in cast(x as integer)`;
  }
}
