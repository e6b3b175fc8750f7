import type { ClaimValue } from './claims.ts';

/** PostgreSQL holds neither in a text; a query that gets one fails. */
const UNFIT = /[\0\p{Cs}]/u;

/**
 * A value that can be known as a claim. Nothing else is: an object has no one meaning, and an empty text would match
 * rows that belong to nobody.
 */
export function asClaimValue(value: unknown): ClaimValue | undefined {
  switch (typeof value) {
    case 'boolean':
      return value;
    case 'number':
      return Number.isFinite(value) ? value : undefined;
    case 'string':
      return isFit(value) ? value : undefined;
    default:
      return Array.isArray(value) && value.every(isFit) ? value : undefined;
  }
}

function isFit(value: unknown): value is string {
  return typeof value === 'string' && value !== '' && !UNFIT.test(value);
}
