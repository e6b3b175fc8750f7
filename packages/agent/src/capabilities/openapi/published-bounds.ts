import type { ParamSchema } from '../model.ts';

/**
 * The bounds of a number as the description gives them: one lower and one upper, because generators and linters fail
 * on an inclusive and an exclusive one side by side, and never beyond the whole numbers that are accepted.
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
