import { SIZE_PATTERN } from './size.ts';

/**
 * A JSON Schema, draft-07: the draft that editors know best. With the functions of this file the sections of the
 * capability file are described. A schema has `errorMessage` where its keywords alone give no clear reason.
 */
export interface JsonSchema {
  readonly [keyword: string]: unknown;
}

export function text(description: string): JsonSchema {
  return { type: 'string', description };
}

export function filledText(description: string): JsonSchema {
  return { type: 'string', minLength: 1, description };
}

export function flag(description: string, defaultValue: boolean): JsonSchema {
  return { type: 'boolean', description, default: defaultValue };
}

export function count(
  description: string,
  minimum: number,
  maximum: number,
  defaultValue?: number,
): JsonSchema {
  const schema = { type: 'integer', description, minimum, maximum };
  return defaultValue === undefined ? schema : { ...schema, default: defaultValue };
}

export function choice(description: string, names: readonly string[], defaultValue?: string): JsonSchema {
  const schema = { type: 'string', description, enum: names };
  return defaultValue === undefined ? schema : { ...schema, default: defaultValue };
}

export function size(description: string, defaultValue?: string): JsonSchema {
  const schema = {
    type: ['integer', 'string'],
    description,
    pattern: SIZE_PATTERN,
    errorMessage: 'must be a size such as `512KB`, `10MB` or `1GB`',
  };
  return defaultValue === undefined ? schema : { ...schema, default: defaultValue };
}
