import type { ParamSchema } from '../model.ts';

/**
 * The bounds of a number as callers are told them: one each way, for generators and linters stumble over an
 * inclusive and an exclusive one beside each other, and never further than the whole numbers that are taken.
 * Other types pass unchanged.
 */
export function publishedBounds(schema: ParamSchema): ParamSchema {
  if (schema.type !== 'integer' && schema.type !== 'number') return schema;
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum, ...others } = schema;
  return {
    ...others,
    ...(exclusiveMinimum !== undefined && exclusiveMinimum >= (minimum ?? -Infinity)
      ? { exclusiveMinimum }
      : { minimum: minimum ?? Number.MIN_SAFE_INTEGER }),
    ...(exclusiveMaximum !== undefined && exclusiveMaximum <= (maximum ?? Infinity)
      ? { exclusiveMaximum }
      : { maximum: maximum ?? Number.MAX_SAFE_INTEGER }),
  };
}
