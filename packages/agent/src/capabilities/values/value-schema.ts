import type { ParamSchema } from '../model.ts';

/** The JSON Schema of one value: what callers are shown and what their values are checked against. */
export interface ValueSchema {
  readonly type: string;
  readonly [keyword: string]: unknown;
}

const CONSTRAINTS = [
  'minimum',
  'maximum',
  'exclusiveMinimum',
  'exclusiveMaximum',
  'multipleOf',
  'minLength',
  'maxLength',
  'pattern',
  'format',
  'enum',
  'minItems',
  'maxItems',
  'default',
] as const;

/** Puts a parameter's type and constraints into JSON Schema; null never fits. */
export function valueSchema(schema: ParamSchema): ValueSchema {
  const { type, items } = schema;
  const constraints = Object.fromEntries(
    CONSTRAINTS.filter((name) => schema[name] !== undefined).map((name) => [name, schema[name]]),
  );
  switch (type) {
    case 'date':
      return { type: 'string', format: 'date', ...constraints };
    case 'datetime':
      return { type: 'string', format: 'date-time', ...constraints };
    case 'uuid':
      return { type: 'string', format: 'uuid', ...constraints };
    case 'array':
      return { type, items: items === undefined ? {} : valueSchema(items), ...constraints };
    case 'integer':
    case 'number':
    case 'string':
    case 'boolean':
    case 'object':
      return { type, ...constraints };
  }
}
