import { parseDuration } from '@svc/edge';
import { parseIssuers, type Issuer } from '@svc/identity';
import type { Position } from '../capabilities/fault.ts';
import type { IdentitySpec } from './capability-file.ts';
import type { IdentityConfig } from './model.ts';
import { resourceOf } from './resource-of.ts';

/** Where things of the file are. */
interface Places {
  readonly gatewayUrls: readonly string[];
  readonly positionOfIssuer: (index: number) => Position;
  /** The path of a file that the capability file names. */
  readonly resolveFile: (name: string) => string;
}

/** Of a section without faults. */
export function buildIdentity(spec: IdentitySpec, places: Places): IdentityConfig {
  const { trust, api_keys: apiKeys = trust === 'token' ? 'refuse' : 'accept', max_age: maxAge } = spec;
  const parsed = parseIssuers(spec.issuers ?? [], { resource: resourceOf(places.gatewayUrls) });
  if (!parsed.ok) throw new Error('cannot build: the issuers have faults');
  return {
    trust,
    acceptsKeys: apiKeys === 'accept',
    ...(maxAge === undefined ? {} : { maxAgeSeconds: parseDuration(maxAge) / 1000 }),
    issuers: parsed.issuers.map((issuer) => withFile(issuer, places.resolveFile)),
    issuerPositions: parsed.issuers.map((_, index) => places.positionOfIssuer(index)),
  };
}

function withFile(issuer: Issuer, resolveFile: Places['resolveFile']): Issuer {
  const { keySource } = issuer;
  if (keySource.kind !== 'file') return issuer;
  return { ...issuer, keySource: { kind: 'file', path: resolveFile(keySource.path) } };
}
