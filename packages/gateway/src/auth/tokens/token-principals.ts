import {
  loggedSubject as loggedSubjectOf,
  tokenPrincipalId,
  type Issuer,
  type VerifiedToken,
} from '@svc/identity';
import { DEFAULT_SERVICE } from '@svc/protocol';
import { principalIdIn } from '../../core/service-id.ts';
import type { Permissions } from '../../core/permission.ts';
import type { SharePermissions } from '../permission-sets.ts';
import type { TokenPrincipal } from '../../core/principal.ts';

export interface TokenCaller {
  readonly principal: TokenPrincipal;
  /** The subject as logs may have it. */
  readonly loggedSubject: string;
  /** Whether no grant matches, and one would if the token had its scope. */
  readonly lacksScope: boolean;
}

type Remembered = Omit<TokenCaller, 'principal'> & Pick<TokenPrincipal, 'id' | 'permissions'>;

export type TokenPrincipals = (
  verified: VerifiedToken,
  token: string,
  refuseAsTooOld: TokenPrincipal['refuseAsTooOld'],
) => TokenCaller;

/** Makes what is expensive once for a token, while its verification is remembered. The token itself is not kept. */
export function createTokenPrincipals(
  sharePermissions: SharePermissions,
  service: string = DEFAULT_SERVICE,
): TokenPrincipals {
  const remembered = new WeakMap<VerifiedToken, Remembered>();

  function remember(verified: VerifiedToken): Remembered {
    const { issuer, subject, grants } = verified;
    const made = {
      id: principalIdIn(service, tokenPrincipalId(issuer, subject)),
      permissions: sharePermissions(grantedBy(issuer, grants)),
      loggedSubject: loggedSubjectOf(issuer, subject),
      lacksScope: grants.length === 0 && issuer.grants.some(({ condition }) => condition.kind === 'scope'),
    };
    remembered.set(verified, made);
    return made;
  }

  return (verified, token, refuseAsTooOld) => {
    const { issuer, subject, clientId, claims, claimsJson, issuedAt } = verified;
    const { id, permissions, loggedSubject, lacksScope } = remembered.get(verified) ?? remember(verified);
    const principal: TokenPrincipal = {
      kind: 'token',
      id,
      permissions,
      claims,
      claimsJson: claimsJson === '{}' ? '' : claimsJson,
      token,
      issuer: issuer.issuer,
      subject,
      clientId,
      issuedAt,
      refuseAsTooOld,
    };
    return { principal, loggedSubject, lacksScope };
  };
}

function grantedBy(issuer: Issuer, places: readonly number[]): Permissions {
  const names = new Set<string>();
  for (const place of places) {
    const capabilities = issuer.grants[place]?.capabilities ?? [];
    if (capabilities === '*') return '*';
    for (const name of capabilities) names.add(name);
  }
  return names;
}
