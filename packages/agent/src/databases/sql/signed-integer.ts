import type { Capability, Param } from '../../capabilities/model.ts';
import { boundValue } from '../../capabilities/values/bound-value.ts';
import { LEAST_INTEGER } from '../../capabilities/values/exact-number.ts';
import { DatabaseError } from '../driver/errors.ts';
import type { ParameterFault } from './template.ts';

const GREATEST = 2n ** 63n - 1n;
const BOUNDS = `must be between ${LEAST_INTEGER} and ${GREATEST}`;

/**
 * For engines whose largest integer has 64 bits with a sign, where others take it without a sign, too. Throws
 * `DatabaseError` for an integer beyond that.
 */
export function requireSigned({ name, from, schema }: Param, value: unknown): void {
  const place = placeBeyond(schema.type === 'array' ? schema.items?.type : schema.type, value);
  if (place === undefined) return;
  throw new DatabaseError(from === undefined ? 'invalid_params' : 'invalid_principal', BOUNDS, {
    advice: `${name}${place}: ${BOUNDS}`,
  });
}

/** Parameters of which the file itself names integers, in `default` and `enum`, that such an engine takes from nobody. */
export function presetsBeyond({ params }: Capability): readonly ParameterFault[] {
  return params.flatMap(({ name, schema }) => {
    const { default: preset, enum: choices = [], items } = schema;
    const isWrong = (of: typeof schema, value: unknown): boolean =>
      placeBeyond(of.type === 'array' ? of.items?.type : of.type, boundValue(of, value)) !== undefined;
    const keys = [
      ...(preset !== undefined && isWrong(schema, preset) ? ['default'] : []),
      ...(choices.some((choice) => isWrong(schema, choice)) ? ['enum'] : []),
      ...(items?.enum?.some((choice) => isWrong(items, choice)) === true ? ['items.enum'] : []),
    ];
    return keys.map((key) => ({
      param: name,
      message: `has an integer in ${key} that ${BOUNDS} for this database`,
    }));
  });
}

/** Which item it is, none for the value itself; undefined where no integer is beyond. */
function placeBeyond(type: Param['schema']['type'] | undefined, value: unknown): string | undefined {
  if (type !== 'integer') return undefined;
  if (!Array.isArray(value)) return isBeyond(value) ? '' : undefined;
  // At each call: quicker than `findIndex`.
  for (let at = 0; at < value.length; at += 1) if (isBeyond(value[at])) return `[${at}]`;
  return undefined;
}

/** What a double does not keep is a text. */
function isBeyond(value: unknown): boolean {
  return typeof value === 'string' && BigInt(value) > GREATEST;
}
