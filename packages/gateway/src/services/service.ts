import type { RequestLimiter } from '../access/rate-limit.ts';
import { createMcpHandler, type McpOptions } from '../api/mcp/endpoint.ts';
import { createServeMessage } from '../api/mcp/serve-message.ts';
import type { Sessions } from '../api/mcp/sessions.ts';
import type { DocumentOptions } from '../api/openapi/document.ts';
import { createOpenApiHandler } from '../api/openapi/serve.ts';
import { createRestCall } from '../api/rest/call.ts';
import { createRegistry, type Registry } from '../agents/registry.ts';
import type { Authenticator } from '../auth/api-keys/authenticator.ts';
import { createAuthenticate } from '../auth/authenticate.ts';
import type { OpenTokens } from '../auth/tokens/open-tokens.ts';
import { createCallCapability, type CallCapability } from '../calls/call-capability.ts';
import { createPermitCall } from '../calls/permit-call.ts';
import { createCatalog, type Catalog } from '../catalog/catalog.ts';
import type { BodyLimits } from '../http/request/json-body.ts';
import type { Handlers } from '../http/server.ts';
import type { Observe } from '../telemetry/events.ts';
import { DEFAULT_SERVICE } from './service-id.ts';

/** Agents, what they offer, and who may call it: of one service, and of no other. */
export interface Service {
  readonly registry: Registry;
  readonly catalog: Catalog;
  readonly handlers: Pick<Handlers, 'call' | 'mcp' | 'openapi'>;
}

/** What all services of the process share. */
export interface ServiceParts {
  readonly authenticator: Authenticator;
  readonly refuseOrigin: McpOptions['refuseOrigin'];
  readonly bodyLimits: BodyLimits;
  readonly rateLimiter: RequestLimiter | undefined;
  readonly principalRate: RequestLimiter | undefined;
  /** Undefined where no key can be revoked. */
  readonly revocations: { readonly known: boolean } | undefined;
  readonly limitCalls: (callCapability: CallCapability) => CallCapability;
  readonly sessions: Sessions;
  /** Of the gateway itself. */
  readonly version: string;
  readonly observe: Observe;
  readonly now: () => number;
}

export interface ServiceOptions {
  /** Undefined where no issuer's tokens are taken. */
  readonly tokens: OpenTokens | undefined;
  readonly described: DocumentOptions;
}

export function createService({ tokens, described }: ServiceOptions, parts: ServiceParts): Service {
  const registry = createRegistry(Math.random);
  const catalog = createCatalog(parts.observe);
  const authenticate = createAuthenticate({
    service: DEFAULT_SERVICE,
    authenticator: parts.authenticator,
    tokens: tokens?.authentication,
    principalRate: parts.principalRate,
    revocations: parts.revocations,
  });
  const permitCall = createPermitCall(parts.limitCalls(createCallCapability(registry, catalog, parts.now)));
  const { bodyLimits } = parts;
  return {
    registry,
    catalog,
    handlers: {
      call: createRestCall({ authenticate, permitCall, bodyLimits }),
      mcp: createMcpHandler({
        authenticate,
        refuseOrigin: parts.refuseOrigin,
        bodyLimits,
        rateLimiter: parts.rateLimiter,
        principalRate: parts.principalRate,
        serveMessage: createServeMessage({
          catalog,
          permitCall,
          sessions: parts.sessions,
          takesTokens: tokens !== undefined,
          version: parts.version,
        }),
      }),
      openapi: createOpenApiHandler({ authenticate, catalog, ...described }),
    },
  };
}
