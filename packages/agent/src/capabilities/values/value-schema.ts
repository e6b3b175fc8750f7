import { TEXT_FORMATS, type ParamSchema } from '../model.ts';

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
  const format = TEXT_FORMATS[type];
  if (format !== undefined) return { type: 'string', format, ...constraints };
  if (type !== 'array') return { type, ...constraints };
  return { type, items: items === undefined ? {} : valueSchema(items), ...constraints };
}
