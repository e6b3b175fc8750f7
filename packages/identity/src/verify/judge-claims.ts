import {
  CLAIMS_JSON_MAX_BYTES,
  asClaimValue,
  type ClaimPath,
  type ClaimValue,
  type Claims,
} from '../model/claims.ts';
import type { Issuer } from '../model/issuer.ts';
import { isObject, type JsonObject } from '../model/json-object.ts';
import type { TokenFailure, VerifiedToken } from '../model/verified-token.ts';

/** Longer names exceed the bound of OpenID Connect; control characters could forge a line of a log. */
const NAME = /^[^\p{Cc}\p{Cs}]{1,255}$/u;
/** They tie a token to one login, which access tokens are not tied to. */
const OF_ID_TOKENS = ['nonce', 'at_hash', 'c_hash'] as const;

interface Times {
  readonly exp: number;
  readonly iat: number | undefined;
}

/** Judges what a token says once its signature is known to be its issuer's. `nowMs` is wall clock time. */
export function judgeClaims(
  payload: JsonObject,
  issuer: Issuer,
  { nowMs, clockSkewMs }: { readonly nowMs: number; readonly clockSkewMs: number },
): VerifiedToken | TokenFailure {
  const times = judgeTimes(payload, issuer, nowMs, clockSkewMs);
  if (typeof times === 'string') return times;
  if (!isForUs(payload, issuer)) return 'audience';
  if (!issuer.idTokens && OF_ID_TOKENS.some((name) => Object.hasOwn(payload, name))) return 'id_token';
  // Tokens that tell of an event, a logout for one, do not always say so in `typ`.
  if (Object.hasOwn(payload, 'events')) return 'type';
  const isLacking = issuer.requiredClaims.some(
    ({ path, values }) => !claimHolds(claimAt(payload, path), values),
  );
  if (isLacking) return 'required_claim';
  // It is of use to the holder of another key only, which nobody here asks for.
  if (Object.hasOwn(payload, 'cnf')) return 'bound_token';
  const subject = nameOf(payload['sub']);
  if (subject === '') return 'subject';
  const claims = mapClaims(issuer, payload);
  const claimsJson = JSON.stringify(claims);
  if (Buffer.byteLength(claimsJson) > CLAIMS_JSON_MAX_BYTES) return 'claims_too_large';
  return {
    kind: 'verified',
    issuer,
    subject,
    clientId: clientIdOf(payload),
    tokenId: nameOf(payload['jti']),
    issuedAt: times.iat,
    expiresAt: times.exp,
    claims,
    claimsJson,
    grants: matchGrants(issuer, payload),
  };
}

function judgeTimes(
  { exp, nbf, iat }: JsonObject,
  { maxLifetimeMs }: Issuer,
  nowMs: number,
  clockSkewMs: number,
): Times | TokenFailure {
  if (exp === undefined) return 'lifetime';
  if (!isTime(exp) || !isTimeOrAbsent(nbf) || !isTimeOrAbsent(iat)) return 'malformed';
  if (nowMs >= exp * 1000 + clockSkewMs) return 'expired';
  if (Math.max(nbf ?? 0, iat ?? 0) * 1000 > nowMs + clockSkewMs) return 'not_yet_valid';
  if (maxLifetimeMs !== undefined && !(iat !== undefined && (exp - iat) * 1000 <= maxLifetimeMs)) {
    return 'lifetime';
  }
  return { exp, iat };
}

function isTime(value: unknown): value is number {
  return typeof value === 'number';
}

function isTimeOrAbsent(value: unknown): value is number | undefined {
  return value === undefined || isTime(value);
}

function isForUs(payload: JsonObject, { audiences, audienceClaim, otherAudiences }: Issuer): boolean {
  const { aud } = payload;
  if (audienceClaim !== undefined) {
    return !Object.hasOwn(payload, 'aud') && audiences.some((own) => own === payload[audienceClaim]);
  }
  const named: readonly unknown[] = Array.isArray(aud) ? aud : [aud];
  const isOurs = (audience: unknown): boolean => audiences.some((own) => own === audience);
  const mayStandBeside = (audience: unknown): boolean =>
    otherAudiences === undefined || otherAudiences.some((other) => other === audience);
  return named.some(isOurs) && named.every((audience) => isOurs(audience) || mayStandBeside(audience));
}

/** Microsoft's first version names it `appid`, Okta `cid`. */
function clientIdOf(payload: JsonObject): string {
  return (
    nameOf(payload['client_id']) ||
    nameOf(payload['azp']) ||
    nameOf(payload['cid']) ||
    nameOf(payload['appid'])
  );
}

/** The text, or an empty one where it cannot name anybody. */
function nameOf(value: unknown): string {
  return typeof value === 'string' && NAME.test(value) ? value : '';
}

/** The configured claims of a token. A value that cannot be a claim counts as absent. */
function mapClaims({ claims: paths }: Issuer, payload: JsonObject): Claims {
  // A claim named like a method of objects must not be there without being given.
  const claims: Record<string, ClaimValue> = Object.create(null);
  for (const [name, path] of paths) {
    const value = asClaimValue(claimAt(payload, path));
    if (value !== undefined) claims[name] = value;
  }
  return claims;
}

/** The places of the grants whose condition a token meets. A scope is equal or another one; `*` is one like others. */
function matchGrants({ grants }: Issuer, payload: JsonObject): readonly number[] {
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
function claimHolds(claim: unknown, values: readonly (string | number | boolean)[]): boolean {
  return values.some((value) => (Array.isArray(claim) ? claim.includes(value) : claim === value));
}
