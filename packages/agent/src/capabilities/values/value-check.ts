import { rawItems } from '@svc/protocol';
import { Ajv, type ValidateFunction } from 'ajv';
import type { ParamSchema, ParamType } from '../model.ts';
import { isDecimalMultiple, readDecimal } from './decimal.ts';
import { failedKeyword, GREATEST_INTEGER, LEAST_INTEGER } from './exact-number.ts';
import { stringFormats } from './string-formats.ts';
import { valueSchema } from './value-schema.ts';

const MAX_ITEM_PROBLEMS = 10;

// Not all errors of one value: a text beyond its `maxLength` must never reach its `pattern`.
// The schemas come from a checked file; to check them again would make each start slower.
const ajv = new Ajv({ strict: true, allErrors: false, coerceTypes: false, validateSchema: false });
for (const [name, check] of stringFormats) ajv.addFormat(name, check);
// Ajv divides binary fractions, so that 0.3 would be no multiple of 0.1.
ajv.removeKeyword('multipleOf');
ajv.addKeyword({
  keyword: 'multipleOf',
  type: 'number',
  schemaType: 'number',
  validate: (step: number, value: number) =>
    isDecimalMultiple(readDecimal(String(value)), readDecimal(String(step))),
});

/** Many parameters look alike, and compiling is what makes a start slow. */
const compiled = new Map<string, ValidateFunction>();

/** What is wrong in a value. `at` are the keys and indexes that lead to the place. */
interface ValueProblem {
  readonly at: readonly (string | number)[];
  /** Never holds the value. */
  readonly message: string;
}

export interface CheckedValue {
  readonly problems: readonly ValueProblem[];
  /** Whether it is bound as `JSON.parse` has made it; otherwise as `boundValue` makes it. */
  readonly isPlain: boolean;
}

/** `written` is the JSON text of the value; absent if a double keeps all its numbers. */
export type CheckValue = (value: unknown, written?: string) => CheckedValue;

const PLAIN: CheckedValue = { problems: [], isPlain: true };
const LONG: CheckedValue = { problems: [], isPlain: false };

/** Prepares the check of one value against its type and constraints; null never fits. */
export function compileValue(schema: ParamSchema): CheckValue {
  const { items, ...own } = schema;
  const validate = compile(own);
  const checkItem = items === undefined ? undefined : compileValue(items);
  const { type } = own;
  const isNumeric = type === 'integer' || type === 'number';
  const failedAt = (keyword: string): ValueProblem => ({ at: [], message: valueMessage(keyword, own) });
  return (value, written) => {
    const listed = checkItem !== undefined && Array.isArray(value);
    if (typeof value === 'number') {
      // Ajv would compare the rounded number. It has no bound for integers of 64 bits.
      const isExact = written === undefined && (type !== 'integer' || Number.isSafeInteger(value));
      if (isNumeric && !isExact) {
        const keyword = failedKeyword(own, written ?? String(value));
        return keyword === undefined ? LONG : refused([failedAt(keyword)]);
      }
    } else if (!listed) {
      const problem = textProblemIn(value);
      if (problem !== undefined) return refused([problem]);
    }
    if (!validate(value)) return refused((validate.errors ?? []).map(({ keyword }) => failedAt(keyword)));
    if (listed) return checkItems(value, checkItem, written);
    return type === 'object' && written !== undefined ? LONG : PLAIN;
  };
}

function refused(problems: readonly ValueProblem[]): CheckedValue {
  return { problems, isPlain: true };
}

function compile(schema: ParamSchema): ValidateFunction {
  const rules = valueSchema(schema);
  const key = JSON.stringify(rules);
  const known = compiled.get(key);
  if (known !== undefined) return known;
  const validate = ajv.compile(rules);
  compiled.set(key, validate);
  return validate;
}

/** Stops early: a caller can send very many wrong items. */
function checkItems(
  values: readonly unknown[],
  checkItem: CheckValue,
  written: string | undefined,
): CheckedValue {
  const texts = written === undefined ? undefined : rawItems(Buffer.from(written));
  let problems: ValueProblem[] | undefined;
  let isPlain = true;
  for (const [at, value] of values.entries()) {
    const item = texts === undefined ? checkItem(value) : checkItem(value, texts[at]?.toString());
    if (item === PLAIN) continue;
    isPlain &&= item.isPlain;
    const [problem] = item.problems;
    if (problem === undefined) continue;
    problems ??= [];
    problems.push({ at: [at, ...problem.at], message: problem.message });
    if (problems.length === MAX_ITEM_PROBLEMS) break;
  }
  if (problems !== undefined) return refused(problems);
  return isPlain ? PLAIN : LONG;
}

/** Why a value parsed from JSON cannot be bound: it holds a text that some databases cannot store. */
function textProblemIn(value: unknown): ValueProblem | undefined {
  if (typeof value === 'string') return textProblem(value);
  if (typeof value !== 'object' || value === null) return undefined;
  if (Array.isArray(value)) {
    for (let index = 0; index < value.length; index++) {
      const problem = within(index, value[index]);
      if (problem !== undefined) return problem;
    }
    return undefined;
  }
  for (const [key, part] of Object.entries(value)) {
    // The message names the object, never the key at fault.
    const problem = textProblem(key) ?? within(key, part);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

function within(step: string | number, part: unknown): ValueProblem | undefined {
  const problem = textProblemIn(part);
  return problem === undefined ? undefined : { ...problem, at: [step, ...problem.at] };
}

function textProblem(text: string): ValueProblem | undefined {
  if (!text.includes('\0') && !/\p{Surrogate}/u.test(text)) return undefined;
  return { at: [], message: 'must not hold the character U+0000 or half a surrogate pair' };
}

const MAX_NAMED_CHOICES = 20;

const TYPES: Readonly<Record<ParamType, string>> = {
  integer: 'must be an integer',
  number: 'must be a number',
  string: 'must be a string',
  boolean: 'must be true or false',
  date: 'must be a date such as "2025-12-31"',
  datetime: 'must be a date and time with offset such as "2025-12-31T23:59:59Z"',
  uuid: 'must be a UUID such as "123e4567-e89b-12d3-a456-426614174000"',
  array: 'must be an array',
  object: 'must be an object',
};

/** Why a value that fails this keyword is refused. Names the constraint, never the value. */
function valueMessage(keyword: string, schema: ParamSchema): string {
  switch (keyword) {
    case 'range':
      return `must be between ${LEAST_INTEGER} and ${GREATEST_INTEGER}`;
    case 'minimum':
      return `must be >= ${schema.minimum}`;
    case 'maximum':
      return `must be <= ${schema.maximum}`;
    case 'exclusiveMinimum':
      return `must be > ${schema.exclusiveMinimum}`;
    case 'exclusiveMaximum':
      return `must be < ${schema.exclusiveMaximum}`;
    case 'multipleOf':
      return `must be a multiple of ${schema.multipleOf}`;
    case 'minLength':
      return `must have at least ${count(schema.minLength, 'character')}`;
    case 'maxLength':
      return `must have at most ${count(schema.maxLength, 'character')}`;
    case 'minItems':
      return `must have at least ${count(schema.minItems, 'item')}`;
    case 'maxItems':
      return `must have at most ${count(schema.maxItems, 'item')}`;
    case 'pattern':
      return `must match the pattern ${oneLine(schema.pattern)}`;
    case 'enum':
      return choices(schema.enum ?? []);
    case 'format':
      return schema.type === 'string' ? `must have the format ${schema.format}` : TYPES[schema.type];
    default:
      return TYPES[schema.type];
  }
}

function count(limit: number | undefined, noun: string): string {
  return limit === 1 ? `1 ${noun}` : `${limit} ${noun}s`;
}

function choices(allowed: readonly unknown[]): string {
  const named = allowed.slice(0, MAX_NAMED_CHOICES).map(oneLine).join(', ');
  const more = allowed.length - MAX_NAMED_CHOICES;
  return more > 0 ? `must be one of ${named} and ${more} more` : `must be one of ${named}`;
}

function oneLine(value: unknown): string {
  return JSON.stringify(value) ?? '';
}
