/** A claim under its configured name. Nothing else of a token or of a key's record is passed on. */
export type ClaimValue = string | number | boolean | readonly string[];

/** By the names that the configuration gives them. */
export type Claims = Readonly<Record<string, ClaimValue>>;

/** Where a claim stands: the names of objects inside each other. A name may hold dots, slashes and colons. */
export type ClaimPath = readonly string[];

/** What travels to agents and into settings of the database. */
export const CLAIMS_JSON_MAX_BYTES = 8192;

/** PostgreSQL cannot store these in a text; a query that gets one fails. */
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
      return isExactNumber(value) ? value : undefined;
    case 'string':
      return isFit(value) ? value : undefined;
    default:
      return Array.isArray(value) && value.every(isFit) ? value : undefined;
  }
}

/** Greater integers were rounded when they were read, so two tenants could have become one. */
export function isExactNumber(value: number): boolean {
  return Number.isFinite(value) && (Number.isSafeInteger(value) || !Number.isInteger(value));
}

function isFit(value: unknown): value is string {
  return typeof value === 'string' && value !== '' && !UNFIT.test(value);
}
