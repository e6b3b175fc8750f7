import type { RateLimiter } from '../access/rate-limit.ts';
import { createMcpHandler, type McpOptions } from '../api/mcp/endpoint.ts';
import { createServeMessage } from '../api/mcp/serve-message.ts';
import type { Sessions } from '../api/mcp/sessions.ts';
import type { DocumentOptions } from '../api/openapi/document.ts';
import { createOpenApiHandler } from '../api/openapi/serve.ts';
import { createRestCall } from '../api/rest/call.ts';
import { createRegistry, type Registry } from '../agents/registry.ts';
import type { SessionDirectory } from '../agents/session-directory.ts';
import type { Authenticator } from '../auth/api-keys/authenticator.ts';
import { createAuthenticate } from '../auth/authenticate.ts';
import type { OpenTokens } from '../auth/tokens/open-tokens.ts';
import { createCallCapability, type CallCapability } from '../calls/call-capability.ts';
import { createAgentWait } from '../calls/wait-for-agent.ts';
import { createPermitCall } from '../calls/permit-call.ts';
import { createCatalog, type Catalog } from '../catalog/catalog.ts';
import type { BodyLimits } from '../http/request/json-body.ts';
import type { Handlers } from '../http/server.ts';
import type { Observe } from '../telemetry/events.ts';

/** Agents, what they offer, and who may call it: of one service, and of no other. */
export interface Service {
  /** From now on no call waits for an agent. */
  stopWaiting(): void;
  readonly registry: Registry;
  readonly catalog: Catalog;
  readonly directory: SessionDirectory;
  readonly handlers: Pick<Handlers, 'call' | 'mcp' | 'openapi'>;
}

/** What all services of the process share. */
export interface ServiceParts {
  readonly authenticator: Authenticator;
  readonly refuseOrigin: McpOptions['refuseOrigin'];
  readonly bodyLimits: BodyLimits;
  readonly rateLimiter: RateLimiter | undefined;
  readonly principalRate: RateLimiter | undefined;
  readonly limitCalls: (callCapability: CallCapability) => CallCapability;
  readonly sessions: Sessions;
  readonly directoryOf: (service: string, registry: Registry, catalog: Catalog) => SessionDirectory;
  /** Of the gateway itself. */
  readonly version: string;
  readonly observe: Observe;
  readonly now: () => number;
  /** How long a call waits when its last agent was lost just before; 0: not at all. */
  readonly agentWaitMs: number;
}

export interface ServiceOptions {
  readonly id: string;
  /** Undefined where no issuer's tokens are taken. */
  readonly tokens: OpenTokens | undefined;
  readonly described: DocumentOptions;
  /** Called for each agent of the service that may take calls from then on. */
  readonly agentCame: () => void;
}

export function createService(
  { id, tokens, described, agentCame }: ServiceOptions,
  parts: ServiceParts,
): Service {
  const agentWait = parts.agentWaitMs > 0 ? createAgentWait(parts.agentWaitMs) : undefined;
  const registry = createRegistry(Math.random, {
    added(link) {
      agentCame();
      agentWait?.came(link);
    },
    removed: (link) => agentWait?.left(link),
  });
  const catalog = createCatalog(parts.observe);
  const authenticate = createAuthenticate({
    service: id,
    authenticator: parts.authenticator,
    tokens: tokens?.authentication,
    principalRate: parts.principalRate,
  });
  const callCapability = createCallCapability(registry, catalog, parts.now, Date.now, agentWait);
  const permitCall = createPermitCall(parts.limitCalls(callCapability));
  const { bodyLimits } = parts;
  return {
    registry,
    catalog,
    stopWaiting: () => agentWait?.close(),
    directory: parts.directoryOf(id, registry, catalog),
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
