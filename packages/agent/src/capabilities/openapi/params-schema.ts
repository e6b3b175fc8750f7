import type { Param, ParamSchema } from '../model.ts';
import { valueSchema } from '../values/value-schema.ts';
import { publishedBounds } from './published-bounds.ts';

/**
 * The JSON Schema of a call's body, inlined. Optional parameters also take null, which is as good as absent. Those that
 * are taken from who calls are not part of it.
 */
export function paramsSchema(all: readonly Param[]): Readonly<Record<string, unknown>> {
  const params = all.filter(({ from }) => from === undefined);
  const required = params.filter((param) => param.required).map(({ name }) => name);
  return {
    type: 'object',
    properties: Object.fromEntries(params.map((param) => [param.name, paramSchema(param)])),
    ...(required.length === 0 ? {} : { required }),
    additionalProperties: false,
  };
}

function paramSchema({ required, description, schema }: Param): Readonly<Record<string, unknown>> {
  const { type, enum: allowed, ...rules } = valueSchema(published(schema));
  return {
    type: required ? type : [type, 'null'],
    ...(Array.isArray(allowed) ? { enum: required ? allowed : [...allowed, null] } : {}),
    ...rules,
    ...(description === undefined ? {} : { description }),
  };
}

function published(schema: ParamSchema): ParamSchema {
  const bounded = publishedBounds(schema);
  return bounded.items === undefined ? bounded : { ...bounded, items: publishedBounds(bounded.items) };
}
