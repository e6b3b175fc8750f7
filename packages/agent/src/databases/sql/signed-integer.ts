import type { Capability, Param } from '../../capabilities/model.ts';
import { boundValue } from '../../capabilities/values/bound-value.ts';
import { LEAST_INTEGER } from '../../capabilities/values/exact-number.ts';
import { DatabaseError } from '../driver/errors.ts';
import type { ParameterFault } from './template.ts';

const GREATEST = 2n ** 63n - 1n;
const BOUNDS = `must be between ${LEAST_INTEGER} and ${GREATEST}`;

/** Throws `DatabaseError` for an integer that does not fit into 64 bits with a sign. */
export function requireSigned({ name, from, schema }: Param, value: unknown): void {
  const place = placeBeyond(schema.type === 'array' ? schema.items?.type : schema.type, value);
  if (place === undefined) return;
  throw new DatabaseError(from === undefined ? 'invalid_params' : 'invalid_principal', BOUNDS, {
    advice: `${name}${place}: ${BOUNDS}`,
  });
}

/** Faults of integers in `default` and `enum` that such an engine cannot take. */
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

/** The index of the item in brackets, or '' for the value itself; undefined if every integer fits. */
function placeBeyond(type: Param['schema']['type'] | undefined, value: unknown): string | undefined {
  if (type !== 'integer') return undefined;
  if (!Array.isArray(value)) return isBeyond(value) ? '' : undefined;
  // Runs at each call, and is faster than `findIndex`.
  for (let at = 0; at < value.length; at += 1) if (isBeyond(value[at])) return `[${at}]`;
  return undefined;
}

/** An integer that a double cannot hold is a text. */
function isBeyond(value: unknown): boolean {
  return typeof value === 'string' && BigInt(value) > GREATEST;
}
