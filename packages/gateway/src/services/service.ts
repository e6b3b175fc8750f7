import { isDeepStrictEqual } from 'node:util';
import type { FetchBytes } from '@svc/identity';
import type { RequestLimiter } from '../access/rate-limit.ts';
import { createReady, type HealthState } from '../api/health.ts';
import type { Settling } from '../api/settling.ts';
import { createMcpHandler, type McpOptions } from '../api/mcp/endpoint.ts';
import { createRevisions } from '../api/mcp/protocol/revisions.ts';
import { createServeMessage } from '../api/mcp/serve-message.ts';
import type { Sessions } from '../api/mcp/sessions.ts';
import { HttpTransport } from '../api/mcp/transport.ts';
import { createOpenApiHandler, type DocumentOptions } from '../api/openapi/document.ts';
import { createProtectedResource, type ProtectedResource } from '../api/protected-resource.ts';
import { createRestCall } from '../api/rest/call.ts';
import { createRegistry, type Registry } from '../agents/registry.ts';
import type { SessionDirectory } from '../agents/session-directory.ts';
import type { Authenticator } from '../auth/api-keys/authenticator.ts';
import { createAuthenticate } from '../auth/authenticate.ts';
import type { SharePermissions } from '../auth/permission-sets.ts';
import { openTokens, type OpenTokens } from '../auth/tokens/open-tokens.ts';
import { createCallCapability, type CallCapability } from '../calls/call-capability.ts';
import { createAgentWait } from '../calls/wait-for-agent.ts';
import { createPermitCall } from '../calls/permit-call.ts';
import { createCatalog, type Catalog } from '../catalog/catalog.ts';
import { describedFields } from '../catalog/visible-operations.ts';
import type { GatewayConfig, TokenConfig } from '../config/model.ts';
import type { Compressor } from '../http/compress.ts';
import type { BodyLimits } from '../http/request/json-body.ts';
import type { ServiceHandlers } from '../http/server.ts';
import type { Observe } from '../telemetry/events.ts';
import type { GatewayTraces } from '../telemetry/traces.ts';
import type { OpenKeySet } from '../cluster/shared/shared-issuers.ts';
import { pathPrefixOf } from '../core/service-id.ts';

/** The agents of one service, what they offer, and who may call it. */
export interface Service {
  readonly id: string;
  /** No call waits for an agent from now on. */
  stopWaiting(): void;
  readonly registry: Registry;
  readonly catalog: Catalog;
  readonly directory: SessionDirectory;
  /** They stay the same object while the service exists. */
  readonly handlers: ServiceHandlers;
  /** Undefined, like `tokens`, if the service takes no issuer's tokens. */
  readonly protectedResource: ProtectedResource | undefined;
  readonly tokens: OpenTokens | undefined;
  readonly described: () => DocumentOptions;
  /** Takes the tokens of these issuers from now on. Issuers that stay the same keep their keys. */
  setTokens(config: TokenConfig | undefined): void;
}

/** What all services of the process share. */
export interface ServiceParts {
  readonly config: GatewayConfig;
  readonly authenticator: Authenticator;
  readonly sharePermissions: SharePermissions;
  readonly directoryOf: (service: string, registry: Registry, catalog: Catalog) => SessionDirectory;
  readonly refuseOrigin: McpOptions['refuseOrigin'];
  readonly bodyLimits: BodyLimits;
  readonly rateLimiter: RequestLimiter | undefined;
  readonly principalRate: RequestLimiter | undefined;
  /** Undefined if no key can be revoked. */
  readonly revocations: { readonly known: boolean } | undefined;
  /** Whether another process checks keys. */
  readonly hasPrimary: boolean;
  readonly limitCalls: (callCapability: CallCapability) => CallCapability;
  readonly sessions: Sessions;
  /** Fetches the keys of issuers. */
  readonly fetchBytes: FetchBytes;
  /** Set if another process fetches the keys of issuers. */
  readonly openKeySet: OpenKeySet | undefined;
  /** Undefined if answers are not compressed. */
  readonly compressor: Compressor | undefined;
  readonly shuttingDown: HealthState['shuttingDown'];
  readonly version: string;
  /** Undefined if none are made. */
  readonly traces?: GatewayTraces | undefined;
  readonly observe: Observe;
  readonly now: () => number;
  readonly settling: Settling;
}

/** The parts of a service that change with its issuers. */
interface Connected {
  readonly handlers: ServiceHandlers;
  readonly protectedResource: ProtectedResource | undefined;
  readonly tokens: OpenTokens | undefined;
  readonly described: DocumentOptions;
}

/** `isAgentKey`: whether the key with this id is one of the service's agents. */
export function createService(
  id: string,
  tokenConfig: TokenConfig | undefined,
  isAgentKey: (keyId: string) => boolean,
  parts: ServiceParts,
): Service {
  const { observe, authenticator, principalRate, revocations, bodyLimits, traces } = parts;
  const { readyDatabases, publicUrl, mcpRevisions, mcpSessions, mcpOutputSchema, agentWaitMs } = parts.config;
  const revisions = createRevisions(mcpRevisions);
  const mcpParts = { revisions, sessions: parts.sessions, issuesSessions: mcpSessions };
  const agentWait = agentWaitMs > 0 ? createAgentWait(agentWaitMs) : undefined;
  const registry = createRegistry(Math.random, {
    added(link) {
      parts.settling.came(id);
      agentWait?.came(link);
    },
    removed: (link) => agentWait?.left(link),
  });
  const catalog = createCatalog(observe, isAgentKey);
  const callCapability = createCallCapability(registry, catalog, parts.now, Date.now, id, agentWait);
  const permitCall = createPermitCall(parts.limitCalls(callCapability));
  let config = tokenConfig;
  let current = connect();

  function connect(): Connected {
    const issuers = config?.issuers ?? [];
    const protectedResource = config && createProtectedResource(config.publicUrl, issuers, id);
    const tokens =
      config &&
      protectedResource &&
      openTokens({
        ...config,
        service: id,
        metadataUrl: protectedResource.metadataUrl,
        sharePermissions: parts.sharePermissions,
        fetchBytes: parts.fetchBytes,
        onKeys: observe,
        openKeySet: parts.openKeySet?.(id),
      });
    const authenticate = createAuthenticate({
      service: id,
      authenticator,
      tokens: tokens?.authentication,
      principalRate,
      revocations,
    });
    const prefix = pathPrefixOf(id);
    const described = {
      publicUrl: publicUrl === undefined && prefix !== '' ? prefix : publicUrl && `${publicUrl}${prefix}`,
      issuers,
      keysMayWait: revocations !== undefined || parts.hasPrimary,
    };
    const ready = createReady({
      agentConnected: () => registry.connected,
      databasesReady: readyDatabases && (() => registry.databasesReady(readyDatabases)),
      shuttingDown: parts.shuttingDown,
      settled: () => parts.settling.settled,
    });
    const handlers: ServiceHandlers = {
      call: createRestCall({
        authenticate,
        permitCall,
        bodyLimits,
        traces,
        fieldsOf: (capability) => describedFields(catalog.description, capability),
        compressor: parts.compressor,
      }),
      mcp: createMcpHandler({
        authenticate,
        refuseOrigin: parts.refuseOrigin,
        bodyLimits,
        rateLimiter: parts.rateLimiter,
        principalRate,
        revisions,
        transportOf: (headers, principal) => new HttpTransport(mcpParts, headers, principal),
        traces,
        serveMessage: createServeMessage({
          catalog,
          permitCall,
          revisions,
          takesTokens: tokens !== undefined,
          outputSchemas: mcpOutputSchema,
          name: 'svc-gateway',
          version: parts.version,
        }),
      }),
      openapi: createOpenApiHandler({ authenticate, catalog, ...described }),
      async ready(exchange) {
        await authenticate(exchange);
        ready(exchange);
      },
    };
    return { handlers, protectedResource, tokens, described };
  }

  return {
    id,
    registry,
    catalog,
    stopWaiting: () => agentWait?.close(),
    directory: parts.directoryOf(id, registry, catalog),
    handlers: {
      call: (exchange, capability) => current.handlers.call(exchange, capability),
      mcp: (exchange) => current.handlers.mcp(exchange),
      openapi: (exchange) => current.handlers.openapi(exchange),
      ready: (exchange) => current.handlers.ready(exchange),
    },
    get protectedResource() {
      return current.protectedResource;
    },
    get tokens() {
      return current.tokens;
    },
    described: () => current.described,
    setTokens(next) {
      if (isDeepStrictEqual(next, config)) return;
      config = next;
      const { tokens } = current;
      current = connect();
      tokens?.close();
    },
  };
}
