import type { ParamSchema } from '../model.ts';

/**
 * The bounds of a number as the description gives them: one lower and one upper, because generators and linters fail
 * on an inclusive and an exclusive one side by side. Other types pass unchanged.
 */
export function publishedBounds(schema: ParamSchema): ParamSchema {
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
