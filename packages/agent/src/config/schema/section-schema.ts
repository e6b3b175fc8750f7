import { DURATION_PATTERN } from '@svc/edge';
import type { JsonSchema } from '../../capabilities/json-schema.ts';

/** A mapping with these keys and no others. */
export function section(
  description: string,
  properties: Readonly<Record<string, JsonSchema>>,
  required: readonly string[] = [],
): JsonSchema {
  return { type: 'object', description, properties, required, additionalProperties: false };
}

export function duration(description: string, defaultValue?: string): JsonSchema {
  const schema = {
    type: 'string',
    description,
    pattern: DURATION_PATTERN,
    errorMessage: 'must be a duration such as `500ms`, `30s`, `2m` or `1m30s`',
  };
  return defaultValue === undefined ? schema : { ...schema, default: defaultValue };
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
