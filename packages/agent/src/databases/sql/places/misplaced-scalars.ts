import type { Capability, ParamType } from '../../../capabilities/model.ts';
import type { ParameterFault } from '../create-template.ts';
import type { SqlToken } from '../scanner.ts';
import { placeOf } from './parameter-place.ts';
import { problemOfCount } from '../row-counts.ts';
import { loneParameter, rowCounts } from './row-counts.ts';
import { takesNumbersAlone } from './takes-numbers.ts';
import { isOperator, isWord } from './tokens.ts';

const TEXTS = new Set<ParamType>(['string', 'uuid', 'date', 'datetime']);

/** Arguments that MariaDB, MySQL and SQLite read as numbers: any text that is none is 0 to them. */
const NUMBERS: Readonly<Record<string, readonly number[]>> = {
  abs: [0],
  ceil: [0],
  ceiling: [0],
  elt: [0],
  floor: [0],
  from_unixtime: [0],
  left: [1],
  lpad: [1],
  makedate: [0, 1],
  maketime: [0, 1, 2],
  mid: [1, 2],
  mod: [0, 1],
  pow: [0, 1],
  power: [0, 1],
  repeat: [1],
  right: [1],
  round: [0, 1],
  rpad: [1],
  sec_to_time: [0],
  sign: [0],
  space: [0],
  sqrt: [0],
  substr: [1, 2],
  substring: [1, 2],
  substring_index: [2],
  truncate: [0, 1],
};

/** What is wrong with texts that stand where only a number means something, and with what counts rows. */
export function misplacedScalars(
  body: readonly SqlToken[],
  { params }: Capability,
): readonly ParameterFault[] {
  const counts = new Set(rowCounts(body).map((count) => loneParameter(body, count)));
  return params.flatMap(({ name, schema }) => {
    const { type } = schema;
    const places = body.flatMap(({ kind, text }, index) =>
      kind === 'parameter' && text === `:${name}` ? [index] : [],
    );
    if (places.some((index) => counts.has(index))) {
      const message = problemOfCount(schema);
      if (message !== undefined) return [{ param: name, message }];
    }
    if (!TEXTS.has(type) || takesNumbersAlone(schema) || !places.some((index) => isNumeric(body, index)))
      return [];
    return [
      {
        param: name,
        message: `is declared ${type}, but the SQL takes a number here, and would read other texts as 0: declare it integer or number`,
      },
    ];
  });
}

function isNumeric(body: readonly SqlToken[], index: number): boolean {
  const [before, next] = [body[index - 1], body[index + 1]];
  const place = placeOf(body, index);
  if (place.kind === 'argument') return NUMBERS[place.of]?.includes(place.at) === true;
  if (isWord(before, /^interval$/i)) return next?.text.includes('_') !== true;
  // Times have their own arithmetic.
  if (isWord(body[index + 2], /^interval$/i) || isWord(body[index - 4], /^interval$/i)) return false;
  // An arrow, which reaches into JSON.
  if (isOperator(next, '-') && isOperator(body[index + 2], '>')) return false;
  const isArithmetic = (token: SqlToken | undefined): boolean =>
    isOperator(token, '+', '-', '*', '/', '%') || isWord(token, /^(?:div|mod)$/i);
  return isArithmetic(before) || isArithmetic(next);
}
