import { DURATION_PATTERN } from '@svc/edge';
import { SIZE_PATTERN } from '../size.ts';

/** A JSON Schema, draft-07: the draft that editors know best. */
export interface JsonSchema {
  readonly [keyword: string]: unknown;
}

/** A mapping with these keys and no others. Values of the schema say `errorMessage` where the reason is not plain. */
export function section(
  description: string,
  properties: Readonly<Record<string, JsonSchema>>,
  required: readonly string[] = [],
): JsonSchema {
  return { type: 'object', description, properties, required, additionalProperties: false };
}

export function text(description: string): JsonSchema {
  return { type: 'string', description };
}

export function filledText(description: string): JsonSchema {
  return { type: 'string', minLength: 1, description };
}

export function flag(description: string, standard: boolean): JsonSchema {
  return { type: 'boolean', description, default: standard };
}

export function count(description: string, minimum: number, maximum: number, standard?: number): JsonSchema {
  const schema = { type: 'integer', description, minimum, maximum };
  return standard === undefined ? schema : { ...schema, default: standard };
}

export function choice(description: string, names: readonly string[], standard?: string): JsonSchema {
  const schema = { type: 'string', description, enum: names };
  return standard === undefined ? schema : { ...schema, default: standard };
}

export function size(description: string, standard?: string): JsonSchema {
  const schema = {
    type: ['integer', 'string'],
    description,
    pattern: SIZE_PATTERN,
    errorMessage: 'must be a size such as `512KB`, `10MB` or `1GB`',
  };
  return standard === undefined ? schema : { ...schema, default: standard };
}

export function duration(description: string, standard?: string): JsonSchema {
  const schema = {
    type: 'string',
    description,
    pattern: DURATION_PATTERN,
    errorMessage: 'must be a duration such as `500ms`, `30s`, `2m` or `1m30s`',
  };
  return standard === undefined ? schema : { ...schema, default: standard };
}

export function named(
  description: string,
  pattern: string,
  errorMessage: string,
  entry: JsonSchema,
): JsonSchema {
  return {
    type: 'object',
    description,
    propertyNames: { pattern, errorMessage },
    additionalProperties: entry,
  };
}
