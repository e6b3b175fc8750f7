import type { ParamSchema, ParamType } from '../model.ts';
import { GREATEST_INTEGER, LEAST_INTEGER } from './exact-number.ts';

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
export function valueMessage(keyword: string, schema: ParamSchema): string {
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
