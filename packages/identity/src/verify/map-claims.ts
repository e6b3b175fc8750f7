import type { Claims, ClaimValue } from '../model/claims.ts';
import { asClaimValue } from '../model/claim-value.ts';
import type { Issuer } from '../model/issuer.ts';
import type { JsonObject } from '../model/json-object.ts';
import { claimAt } from './claim-at.ts';

/** What of a token goes on, by the names of the configuration. A value that can be no claim is as if absent. */
export function mapClaims({ claims: paths }: Issuer, payload: JsonObject): Claims {
  // A claim named like a method of objects must not be there without being given.
  const claims: Record<string, ClaimValue> = Object.create(null);
  for (const [name, path] of paths) {
    const value = asClaimValue(claimAt(payload, path));
    if (value !== undefined) claims[name] = value;
  }
  return claims;
}
