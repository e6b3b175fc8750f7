import type { Param } from '../../../capabilities/model.ts';
import { DatabaseError, type DatabaseErrorOptions } from '../../driver/errors.ts';
import { isReserved } from '../caller-variables.ts';
import type { ValueFault } from './proven-faults.ts';

/**
 * What a call fails with whose values are at fault: the caller's fault where they sent one of them. One that is taken from
 * who calls is not named to them. Undefined where there is no such value.
 */
export function faultError(
  faults: readonly ValueFault[],
  params: readonly Pick<Param, 'name' | 'from'>[],
  message: string,
  options: DatabaseErrorOptions = {},
): DatabaseError | undefined {
  const names = new Map<string, string[]>();
  let isPrincipals = false;
  for (const [index, mistake] of faults) {
    const param = params[index];
    if (param === undefined) continue;
    if (param.from !== undefined || isReserved(param.name)) isPrincipals = true;
    else names.set(mistake, [...new Set([...(names.get(mistake) ?? []), param.name])]);
  }
  if (names.size === 0) {
    return isPrincipals ? new DatabaseError('invalid_principal', message, options) : undefined;
  }
  const advice = [...names].map(([mistake, each]) => `${each.join(', ')}: ${mistake}`).join('; ');
  return new DatabaseError('invalid_params', message, { ...options, advice });
}
