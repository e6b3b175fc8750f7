import type { Capability, ResultField, ResultType } from '../model.ts';
import { typeTitle } from './type-title.ts';

/**
 * The JSON Schema of the answer to a call: exactly the listed fields, all of them in every row.
 */
export function resultSchema({
  name,
  result: fields,
  paging,
}: Pick<Capability, 'name' | 'result' | 'paging'>): Readonly<Record<string, unknown>> {
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
    },
    required: ['rows', 'count'],
    additionalProperties: false,
  };
}

/** The parameters with which a call goes on; there is none where a value for one is null. */
function nextSchema(
  paging: Readonly<Record<string, string>>,
  fields: readonly ResultField[],
): Readonly<Record<string, unknown>> {
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

function fieldSchema({
  type,
  format,
  nullable,
  description,
}: ResultField): Readonly<Record<string, unknown>> {
  const { type: jsonType, ...rules } = typeRules(type);
  // Only the types `date` and `datetime` see to it that a value has this format.
  const isUnchecked = type === 'string' && (format === 'date' || format === 'date-time');
  return {
    type: nullable ? [jsonType, 'null'] : jsonType,
    ...rules,
    ...(format === undefined || isUnchecked ? {} : { format }),
    ...(description === undefined ? {} : { description }),
  };
}

function typeRules(type: ResultType): { readonly type: string; readonly [keyword: string]: unknown } {
  switch (type) {
    case 'date':
      return { type: 'string', format: 'date' };
    case 'datetime':
      return { type: 'string', format: 'date-time' };
    case 'array':
      return { type, items: {} };
    case 'integer':
    case 'number':
    case 'string':
    case 'boolean':
    case 'object':
      return { type };
  }
}
