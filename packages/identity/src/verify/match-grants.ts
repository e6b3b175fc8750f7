import type { Issuer } from '../model/issuer.ts';
import type { JsonObject } from '../model/json-object.ts';
import { claimAt, claimHolds } from './claim-at.ts';

/** The places of the grants whose condition a token meets. A scope is equal or another one; `*` is one like others. */
export function matchGrants({ grants }: Issuer, payload: JsonObject): readonly number[] {
  const scopes = new Set([...scopesOf(claimAt(payload, ['scope'])), ...scopesOf(claimAt(payload, ['scp']))]);
  const matched: number[] = [];
  for (const [index, { condition }] of grants.entries()) {
    const isMet =
      condition.kind === 'scope'
        ? scopes.has(condition.scope)
        : claimHolds(claimAt(payload, condition.path), [condition.value]);
    if (isMet) matched.push(index);
  }
  return matched;
}

function scopesOf(claim: unknown): readonly unknown[] {
  if (typeof claim === 'string') return claim.split(' ');
  return Array.isArray(claim) ? claim : [];
}
