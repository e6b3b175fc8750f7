import { TEXT_FORMATS, type Capability, type ResultField, type ResultType } from '../model.ts';

type Schema = Readonly<Record<string, unknown>>;

/** The JSON Schema of the answer to a call: exactly the listed fields, all of them in every row. */
export function resultSchema(capability: Pick<Capability, 'name' | 'result' | 'paging' | 'clauses'>): Schema {
  const { name, result: fields, paging, clauses } = capability;
  return {
    title: typeTitle(name, 'Result'),
    type: 'object',
    properties: {
      rows: {
        type: 'array',
        items: {
          title: typeTitle(name, 'Row'),
          type: 'object',
          properties: Object.fromEntries(fields.map((field) => [field.name, fieldSchema(field)])),
          required: fields.map(({ name }) => name),
          additionalProperties: false,
        },
      },
      count: { type: 'integer', minimum: 0, description: 'Number of rows.' },
      truncated: {
        type: 'boolean',
        const: true,
        description: 'Present when rows were left out because of a cap.',
      },
      ...(paging === undefined ? {} : { next: nextSchema(paging, fields) }),
      ...(clauses?.hasPages === true ? { next: CURSOR_SCHEMA } : {}),
    },
    required: ['rows', 'count'],
    additionalProperties: false,
  };
}

/** The parameters with which a call continues; absent if a value for one of them is null. */
function nextSchema(paging: Readonly<Record<string, string>>, fields: readonly ResultField[]): Schema {
  const properties = Object.entries(paging).flatMap(([param, name]) => {
    const field = fields.find((candidate) => candidate.name === name);
    if (field === undefined) return [];
    const { description: _description, ...rules } = fieldSchema({ ...field, nullable: false });
    return [[param, rules] as const];
  });
  return {
    type: 'object',
    description:
      'Present when rows were left out: the same call with these parameters goes on behind the last row.',
    properties: Object.fromEntries(properties),
    required: properties.map(([param]) => param),
    additionalProperties: false,
  };
}

const CURSOR_SCHEMA: Schema = {
  type: 'object',
  description:
    'Present when rows were left out: the same call with this parameter goes on after the last row.',
  properties: { cursor: { type: 'string' } },
  required: ['cursor'],
  additionalProperties: false,
};

function fieldSchema({ type, format, nullable, description }: ResultField): Schema {
  const { type: jsonType, ...rules } = typeRules(type);
  // Only the types `date` and `datetime` guarantee that a value has this format.
  const isUnchecked = type === 'string' && (format === 'date' || format === 'date-time');
  return {
    type: nullable ? [jsonType, 'null'] : jsonType,
    ...rules,
    ...(format === undefined || isUnchecked ? {} : { format }),
    ...(description === undefined ? {} : { description }),
  };
}

function typeRules(type: ResultType): { readonly type: string; readonly [keyword: string]: unknown } {
  const format = TEXT_FORMATS[type];
  if (format !== undefined) return { type: 'string', format };
  return type === 'array' ? { type, items: {} } : { type };
}

/**
 * The title of a capability's schema: `get_track` and `Result` make `GetTrackResult`. Generators name the type of an inline
 * schema after its title, so titles are unique and have the form of a type's name. An underscore stays if no capital letter
 * can replace it: `track_2` is not `track2`.
 */
export function typeTitle(capability: string, kind: 'Params' | 'Result' | 'Row'): string {
  const words = capability
    .split('_')
    .map((word) => (/^[a-z]/.test(word) ? word.charAt(0).toUpperCase() + word.slice(1) : `_${word}`));
  return words.join('') + kind;
}
