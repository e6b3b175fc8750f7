import type { Issuer } from '@svc/identity';
import { DEFAULT_SERVICE } from '@svc/protocol';
import type { Exchange } from '../http/exchange.ts';
import { basePathOf } from '../network/base-path.ts';
import { SERVICE_TEMPLATE, type Route, type Routes } from '../http/routes.ts';
import { pathPrefixOf, resourceOf } from '../core/service-id.ts';
import { advertisedScopes } from '../auth/tokens/challenges.ts';

export const WELL_KNOWN = '/.well-known/oauth-protected-resource';

/** Tells clients which issuers give tokens for this gateway (RFC 9728). */
export interface ProtectedResource {
  /** As `WWW-Authenticate` names it. */
  readonly metadataUrl: string;
  readonly routes: Routes;
  serve(exchange: Exchange): void;
}

/** `publicUrl` has no slash at its end. What callers send, such as `Host`, is ignored. */
export function createProtectedResource(
  publicUrl: string,
  issuers: readonly Issuer[],
  service: string = DEFAULT_SERVICE,
): ProtectedResource {
  const { origin } = new URL(publicUrl);
  const prefix = basePathOf(publicUrl);
  const route: Route = {
    kind: 'metadata',
    template: `${WELL_KNOWN}${service === DEFAULT_SERVICE ? '' : SERVICE_TEMPLATE}/mcp`,
    methods: ['GET', 'HEAD', 'OPTIONS'],
    service: undefined,
  };
  // A proxy may remove the prefix. Clients that get no `WWW-Authenticate` try the shortest path last.
  const ofService = pathPrefixOf(service);
  const paths = [prefix, ''].flatMap((before) => [`${before}${ofService}/mcp`, `${before}${ofService}/mcp/`]);
  const [document, withSlash] = [describe(''), describe('/')];

  function describe(slash: string): Buffer {
    const scopes = advertisedScopes(issuers);
    const servers = issuers.filter(({ advertise }) => advertise).map(({ issuer }) => issuer);
    const metadata = {
      // Clients compare it with the URL that they were given, some including the slash.
      resource: `${resourceOf(publicUrl, service)}${slash}`,
      // RFC 9728 leaves empty lists out.
      ...(servers.length === 0 ? {} : { authorization_servers: servers }),
      ...(scopes.length === 0 ? {} : { scopes_supported: scopes }),
      bearer_methods_supported: ['header'],
    };
    return Buffer.from(JSON.stringify(metadata));
  }

  return {
    metadataUrl: `${origin}${WELL_KNOWN}${prefix}${ofService}/mcp`,
    routes: new Map(
      [...(service === DEFAULT_SERVICE ? [''] : []), ...paths].map((path) => [`${WELL_KNOWN}${path}`, route]),
    ),
    serve(exchange) {
      const [path = ''] = (exchange.request.url ?? '').split('?');
      exchange.send(200, [], [path.endsWith('/') ? withSlash : document]);
    },
  };
}
