import type { Issuer } from '../model/issuer.ts';

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
export function clientIdWarning(issuer: Issuer): string | undefined {
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
