import type { ParamSchema } from '../../../capabilities/model.ts';
import { textArray } from '../dialect/text-array.ts';

/** With its schema, for a search path may have other types in front. */
export function sqlTypeOf(schema: ParamSchema): string {
  switch (schema.type) {
    case 'integer':
      return 'pg_catalog.int8';
    case 'number':
      return 'pg_catalog.numeric';
    case 'string':
      return 'pg_catalog.text';
    case 'boolean':
      return 'pg_catalog.bool';
    case 'date':
      return 'pg_catalog.date';
    case 'datetime':
      return 'pg_catalog.timestamptz';
    case 'uuid':
      return 'pg_catalog.uuid';
    case 'array':
      return `${sqlTypeOf(schema.items ?? { type: 'string' })}[]`;
    case 'object':
      return 'pg_catalog.jsonb';
  }
}

/** The text form of a validated value; absent and null are SQL NULL. */
export function bindValue(schema: ParamSchema, value: unknown): string | null {
  if (value === undefined || value === null) return null;
  switch (schema.type) {
    case 'object':
      return scalarText(value);
    case 'array':
      return arrayLiteral(Array.isArray(value) ? value : [value], schema.items);
    default:
      return scalarText(value);
  }
}

function scalarText(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

function arrayLiteral(values: readonly unknown[], items: ParamSchema | undefined): string {
  return textArray(
    values.map((value) => {
      if (items !== undefined) return bindValue(items, value);
      return value === null ? null : scalarText(value);
    }),
  );
}
