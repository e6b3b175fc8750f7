import type { Claims } from '@svc/identity';
import { CallError } from './call-error.ts';
import type { KeyRecord } from '../auth/api-keys/key-record.ts';
import type { Permissions } from './permission.ts';
import type { ApiKeyPrincipal, TokenPrincipal } from './principal.ts';

export function keyPrincipal(
  name: string,
  permissions: Permissions = '*',
  claims: Claims = {},
): ApiKeyPrincipal {
  const claimsJson = Object.keys(claims).length === 0 ? '' : JSON.stringify(claims);
  return { kind: 'api_key', id: `key:${name}`, permissions, claims, claimsJson, name };
}

export function tokenPrincipal(changes: Partial<TokenPrincipal> = {}): TokenPrincipal {
  const { claims = {} } = changes;
  return {
    kind: 'token',
    id: 'token:test:ann',
    permissions: '*',
    claims,
    claimsJson: Object.keys(claims).length === 0 ? '' : JSON.stringify(claims),
    token: 'header.payload.signature',
    issuer: 'https://issuer.example',
    subject: 'ann',
    clientId: 'client',
    issuedAt: undefined,
    refuseAsTooOld: () => new CallError('GATEWAY_UNAUTHORIZED', 'too old'),
    ...changes,
  };
}

export function keyRecord(name: string, changes: Partial<KeyRecord> = {}): KeyRecord {
  return {
    name,
    keyHash: `hash of ${name}`,
    keyId: undefined,
    capabilities: '*',
    principal: name,
    claims: {},
    expiresAtMs: undefined,
    ...changes,
  };
}
