import type { Issuer } from '../model/issuer.ts';
import { parseRecord } from './parse-record.ts';
import { createPlace, type Problem } from './problem.ts';

/** docs/reference/settings.md promises it. */
const MAX_ISSUERS = 16;

export type ParsedIssuers =
  | { readonly ok: true; readonly issuers: readonly Issuer[]; readonly warnings: readonly string[] }
  | { readonly ok: false; readonly problems: readonly Problem[] };

/**
 * Reads the records of issuers, parsed from JSON or YAML: all of them, or every fault of all. `resource` is the
 * audience of records that name none; without it they have to.
 */
export function parseIssuers(
  value: unknown,
  options: { readonly resource: string | undefined },
): ParsedIssuers {
  const problems: Problem[] = [];
  const place = createPlace(problems);
  if (!Array.isArray(value)) {
    place.fault('is not a list; accepted: a list of issuers');
    return { ok: false, problems };
  }
  if (value.length > MAX_ISSUERS) {
    place.fault(`has ${value.length} issuers; accepted: at most ${MAX_ISSUERS}`);
    return { ok: false, problems };
  }
  const entries: readonly unknown[] = value;
  const issuers: Issuer[] = [];
  for (const [index, entry] of entries.entries()) {
    const issuer = parseRecord(entry, place.at(index), options.resource);
    if (issuer === undefined) continue;
    for (const field of ['name', 'issuer'] as const) {
      // Two of one name share a line in the log, and of two with one `iss` only one would be looked at.
      const isTaken = issuer[field] !== '' && issuers.some((earlier) => earlier[field] === issuer[field]);
      if (isTaken)
        place.at(index).at(field).fault(`is that of an earlier issuer; accepted: each ${field} once`);
    }
    issuers.push(issuer);
  }
  if (problems.length > 0) return { ok: false, problems };
  return { ok: true, issuers, warnings: issuers.flatMap((issuer) => clientIdWarning(issuer) ?? []) };
}

/** Claims of access tokens that no ID token has. */
const OF_ACCESS_TOKENS: ReadonlySet<string> = new Set([
  'scope',
  'scp',
  'client_id',
  'cid',
  'appid',
  'appidacr',
  'azpacr',
]);

/**
 * The `aud` of an ID token is a client id. Where that is an audience here, an ID token that betrays itself by nothing
 * else would pass for an access token, so grants or required claims have to tell them apart.
 */
function clientIdWarning(issuer: Issuer): string | undefined {
  const { name, audiences, audienceClaim, grants, idTokens, requiredClaims } = issuer;
  if (audienceClaim !== undefined) {
    return (
      `issuer "${name}": its tokens do not say for which service they are, so every service that gets a token of ` +
      `${audienceClaim} ${audiences.map((audience) => JSON.stringify(audience)).join(' or ')} can call with it; ` +
      'let the issuer write "aud" if it can, and require a scope or a claim that only tokens for this gateway have'
    );
  }
  const clientId = audiences.find((audience) => !/^[a-z][a-z0-9+.-]*:/i.test(audience));
  if (clientId === undefined || idTokens) return undefined;
  if (grants.length > 0 && grants.every(({ condition }) => condition.kind === 'scope')) return undefined;
  const tellsApart = requiredClaims.some(
    ({ path }) => path.length === 1 && OF_ACCESS_TOKENS.has(path[0] ?? ''),
  );
  if (tellsApart) return undefined;
  return (
    `issuer "${name}": its audiences hold a client id, which is the audience of ID tokens, too; so that none of them ` +
    'is taken, give every grant a scope, or require a claim that only access tokens have, like "scp"'
  );
}
