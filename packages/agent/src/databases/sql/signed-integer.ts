import type { Param } from '../../capabilities/model.ts';
import { LEAST_INTEGER } from '../../capabilities/values/exact-number.ts';
import { DatabaseError } from '../errors.ts';

const GREATEST = 2n ** 63n - 1n;

/**
 * For engines whose largest integer has 64 bits with a sign, where others take it without a sign, too. Throws
 * `DatabaseError` for an integer beyond that.
 */
export function requireSigned({ name, from, schema }: Param, value: unknown): void {
  const place = placeBeyond(schema.type === 'array' ? schema.items?.type : schema.type, value);
  if (place === undefined) return;
  const mistake = `must be between ${LEAST_INTEGER} and ${GREATEST}`;
  throw new DatabaseError(from === undefined ? 'invalid_params' : 'invalid_principal', mistake, {
    advice: `${name}${place}: ${mistake}`,
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
