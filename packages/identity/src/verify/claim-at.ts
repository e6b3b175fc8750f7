import type { ClaimPath } from '../model/claims.ts';
import { isObject, type JsonObject } from '../model/json-object.ts';

/** The value at a path of a token; undefined if there is none. */
export function claimAt(payload: JsonObject, path: ClaimPath): unknown {
  let value: unknown = payload;
  for (const name of path) {
    // What every object inherits, like `constructor`, is no claim.
    if (!isObject(value) || !Object.hasOwn(value, name)) return undefined;
    value = value[name];
  }
  return value;
}

/** Whether a claim is one of these values, or a list that holds one; exactly, without conversion. */
export function claimHolds(claim: unknown, values: readonly (string | number | boolean)[]): boolean {
  return values.some((value) => (Array.isArray(claim) ? claim.includes(value) : claim === value));
}
