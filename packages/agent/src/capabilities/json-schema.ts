import { DURATION_PATTERN } from '@svc/edge';
import { SIZE_PATTERN } from './size.ts';

/**
 * A JSON Schema, draft-07: the draft that editors know best. The functions below describe the sections of the capability
 * file. `errorMessage` is the reason that people are shown if the keywords alone give no clear one.
 */
export interface JsonSchema {
  readonly [keyword: string]: unknown;
}

/** A mapping with these keys and no others. */
export function section(
  description: string,
  required: readonly string[],
  properties: Readonly<Record<string, JsonSchema>>,
): JsonSchema {
  return { type: 'object', description, properties, required, additionalProperties: false };
}

/** A mapping whose keys are names that the author of the file chooses. */
export function named(
  description: string,
  pattern: string,
  errorMessage: string,
  entry: JsonSchema,
): JsonSchema {
  const propertyNames = { pattern, errorMessage };
  return { type: 'object', description, propertyNames, additionalProperties: entry };
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
  return withDefault({ type: 'integer', description, minimum, maximum }, standard);
}

export function choice(description: string, names: readonly string[], standard?: string): JsonSchema {
  return withDefault({ type: 'string', description, enum: names }, standard);
}

export function size(description: string, standard?: string): JsonSchema {
  const errorMessage = 'must be a size such as `512KB`, `10MB` or `1GB`';
  return withDefault(
    { type: ['integer', 'string'], description, pattern: SIZE_PATTERN, errorMessage },
    standard,
  );
}

export function duration(description: string, standard?: string): JsonSchema {
  const errorMessage = 'must be a duration such as `500ms`, `30s`, `2m` or `1m30s`';
  return withDefault({ type: 'string', description, pattern: DURATION_PATTERN, errorMessage }, standard);
}

function withDefault(schema: JsonSchema, standard: unknown): JsonSchema {
  return standard === undefined ? schema : { ...schema, default: standard };
}
