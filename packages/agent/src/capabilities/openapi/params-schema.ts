import type { Example } from '../example.ts';
import type { Capability, Param, ParamSchema } from '../model.ts';
import { holdsBigInt } from '../values/json-text.ts';
import { valueSchema } from '../values/value-schema.ts';

/**
 * The JSON Schema of a call's body, inlined. Optional parameters also take null, which is as good as absent. Parameters
 * that are taken from who calls are not part of it.
 */
export function paramsSchema({
  params: all,
  examples = [],
}: Pick<Capability, 'params' | 'examples'>): Readonly<Record<string, unknown>> {
  const params = all.filter(({ from }) => from === undefined);
  const required = params.filter((param) => param.required).map(({ name }) => name);
  return {
    type: 'object',
    properties: Object.fromEntries(params.map((param) => [param.name, paramSchema(param)])),
    ...(required.length === 0 ? {} : { required }),
    additionalProperties: false,
    ...publishedExamples(examples),
  };
}

function paramSchema({ required, description, schema }: Param): Readonly<Record<string, unknown>> {
  const { items } = schema;
  const published = {
    ...publishedBounds(schema),
    ...(items === undefined ? {} : { items: publishedBounds(items) }),
  };
  const { type, enum: allowed, ...rules } = valueSchema(published);
  return {
    type: required ? type : [type, 'null'],
    ...(Array.isArray(allowed) ? { enum: required ? allowed : [...allowed, null] } : {}),
    ...rules,
    ...(description === undefined ? {} : { description }),
  };
}

/** One lower and one upper bound: generators and linters fail on an inclusive bound beside an exclusive one. */
function publishedBounds(schema: ParamSchema): ParamSchema {
  if (schema.type !== 'integer' && schema.type !== 'number') return schema;
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum, ...others } = schema;
  return {
    ...others,
    ...(exclusiveMinimum !== undefined && exclusiveMinimum >= (minimum ?? -Infinity)
      ? { exclusiveMinimum }
      : minimum !== undefined && { minimum }),
    ...(exclusiveMaximum !== undefined && exclusiveMaximum <= (maximum ?? Infinity)
      ? { exclusiveMaximum }
      : maximum !== undefined && { maximum }),
  };
}

/** The parameters of examples, each once, also for the schemas of tools. Never the rows: those are data. */
function publishedExamples(examples: readonly Example[]): { readonly examples?: readonly unknown[] } {
  const distinct = new Map(
    examples.filter(isShown).flatMap(({ params }) => {
      // Null is as good as absent, and the schemas of tools do not have it.
      const given = Object.entries(params).filter(([, value]) => value !== null);
      const shown = Object.fromEntries(given);
      return given.length === 0 ? [] : [[JSON.stringify(shown), shown]];
    }),
  );
  return distinct.size === 0 ? {} : { examples: [...distinct.values()] };
}

/** Gateways and readers of the schema would round an integer beyond 2^53. */
export function isShown({ isPublished, params }: Example): boolean {
  return isPublished && !holdsBigInt(params);
}
