import type { Capability, ParamSchema, ParamType } from '../../../capabilities/model.ts';
import type { ParameterFault } from '../template.ts';
import type { SqlToken } from '../scanner.ts';
import { each } from '../words.ts';
import { betweenBefore } from './comparisons.ts';
import { placeOf } from './parameter-place.ts';
import { problemOfCount } from '../row-counts.ts';
import { loneParameter, rowCounts } from './row-counts.ts';
import { takesNumbersAlone } from './takes-numbers.ts';
import { indexesOf, isOperator, isWord } from './tokens.ts';

const TEXTS = new Set<ParamType>(['string', 'uuid', 'date', 'datetime']);

/** Arguments that MariaDB, MySQL and SQLite read as numbers: other texts are 0. */
const NUMBERS: Readonly<Record<string, readonly number[]>> = {
  ...each(
    `abs acos asin atan avg ceil ceiling char cos degrees elt exp export_set floor from_unixtime ln log10 log2
    make_set radians rand sec_to_time sign sin space sqrt sum tan`,
    [0],
  ),
  ...each('left lpad repeat right rpad', [1]),
  ...each('log makedate mod pow power round truncate', [0, 1]),
  maketime: [0, 1, 2],
  ...each('mid substr substring', [1, 2]),
  substring_index: [2],
};

/** Faults of texts in places that read numbers, and of parameters that count rows. */
export function misplacedScalars(
  body: readonly SqlToken[],
  { params }: Capability,
): readonly ParameterFault[] {
  const counts = new Set(rowCounts(body).map((count) => loneParameter(body, count)));
  return params.flatMap(({ name, schema }) => {
    const places = indexesOf(body, name);
    const problem = places.some((index) => counts.has(index)) ? problemOfCount(schema) : undefined;
    const message = problem ?? problemOfText(body, places, schema);
    return message === undefined ? [] : [{ param: name, message }];
  });
}

function problemOfText(
  body: readonly SqlToken[],
  places: readonly number[],
  schema: ParamSchema,
): string | undefined {
  const { type } = schema;
  if (!TEXTS.has(type) || takesNumbersAlone(schema)) return undefined;
  const declared = `is declared ${type}, but the SQL takes`;
  if (places.some((index) => isCondition(body, index)))
    return `${declared} a condition here, and would read texts as numbers: declare it boolean`;
  if (places.some((index) => isNumberPlace(body, index)))
    return `${declared} a number here, and would read other texts as 0: declare it integer or number`;
  return undefined;
}

/** Whether the parameter there is a whole condition. */
function isCondition(body: readonly SqlToken[], index: number): boolean {
  const [before, next] = [body[index - 1], body[index + 1]];
  if (isOperator(before, '(') && isOperator(next, ',')) return isWord(body[index - 2], /^i?if$/i);
  const ends =
    next === undefined ||
    isOperator(next, ')', ';') ||
    isWord(next, /^(?:and|or|xor|then|group|order|having|limit|union|except|intersect)$/i);
  if (!ends) return false;
  if (isWord(before, /^and$/i)) return betweenBefore(body, index - 2) === undefined;
  if (isWord(before, /^when$/i)) return isWord(body[index - 2], /^case$/i);
  if (isWord(before, /^not$/i)) return !isWord(body[index - 2], /^is$/i);
  return isWord(before, /^(?:where|on|having|or|xor)$/i);
}

/** Whether a number is read from the tokens from `start` up to `end`. */
export function isNumberPlace(body: readonly SqlToken[], start: number, end: number = start + 1): boolean {
  const [before, next] = [body[start - 1], body[end]];
  const place = placeOf(body, start, end);
  if (place.kind === 'argument') return NUMBERS[place.of]?.includes(place.at) === true;
  if (isWord(before, /^interval$/i)) return next?.text.includes('_') !== true;
  // Arithmetic with times is something else.
  if (isWord(body[end + 1], /^interval$/i) || isWord(body[start - 4], /^interval$/i)) return false;
  // The arrow reaches into JSON.
  if (isOperator(next, '-') && isOperator(body[end + 1], '>')) return false;
  const isArithmetic = (token: SqlToken | undefined): boolean =>
    isOperator(token, '+', '-', '*', '/', '%') || isWord(token, /^(?:div|mod)$/i);
  return isArithmetic(before) || isArithmetic(next);
}
