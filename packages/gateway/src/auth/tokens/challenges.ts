import type { Issuer } from '@svc/identity';

/** What `WWW-Authenticate` says, by the reason of the refusal. `target` is that of the request line. */
export interface Challenges {
  noCredential(target: string): string;
  refusedToken(target: string, expired: boolean): string;
  insufficientScope(target: string): string;
}

/** For a wrong key: with more in it, clients would begin a login. */
export const REFUSED_KEY = 'Bearer';

const EXPIRED = 'the access token has expired';
const NOT_VALID = 'the access token is not valid for this resource';

/** `metadataUrl` serves the description of the resource; for `/mcp/` a slash is added. */
export function createChallenges(metadataUrl: string, issuers: readonly Issuer[]): Challenges {
  const scopes = advertisedScopes(issuers);
  const scope = scopes.length === 0 ? [] : [`scope="${scopes.join(' ')}"`];

  function metadata(target: string): string {
    const [path = ''] = target.split('?');
    const slash = path.endsWith('/mcp/') ? '/' : '';
    return `resource_metadata="${metadataUrl}${slash}"`;
  }
  return {
    noCredential: (target) => bearer(metadata(target), ...scope),
    refusedToken(target, expired) {
      const description = `error_description="${expired ? EXPIRED : NOT_VALID}"`;
      return bearer('error="invalid_token"', description, metadata(target), ...scope);
    },
    insufficientScope: (target) => bearer('error="insufficient_scope"', ...scope, metadata(target)),
  };
}

export function advertisedScopes(issuers: readonly Issuer[]): readonly string[] {
  return [...new Set(issuers.flatMap(({ advertise, scopes }) => (advertise ? scopes : [])))];
}

function bearer(...parameters: readonly string[]): string {
  return `Bearer ${parameters.join(', ')}`;
}
