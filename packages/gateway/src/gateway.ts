import { createMetricsRegister, listen, serveMetrics, type AcceptFailure } from '@svc/edge';
import { DRAIN_TIMEOUT_MS, RESULT_MAX_BYTES } from '@svc/protocol';
import { createAgentEndpoint } from './agents/endpoint.ts';
import { createResultBudget } from './agents/result-budget.ts';
import { createAgentUpgradeHandler } from './agents/serve-upgrade.ts';
import { createCallSlots, limitConcurrentCalls, type CallSlots } from './calls/concurrent-calls.ts';
import type { GatewayConfig } from './config/model.ts';
import { bodyMemoryOf, createBodyBudget } from './http/request/json-body.ts';
import { createCors } from './access/cors.ts';
import { createHealth, createReady } from './api/health.ts';
import { createProtectedResource } from './api/protected-resource.ts';
import { UNKNOWN_CALLER } from './telemetry/events.ts';
import { createOriginCheck } from './access/origin.ts';
import { createRateLimiter, type Rate, type RequestLimiter } from './access/rate-limit.ts';
import { createGatewayServer } from './http/server.ts';
import { createSourceResolver } from './network/client-address.ts';
import { createAuthenticator, type KeyAuthority } from './auth/api-keys/authenticator.ts';
import { createSharePermissions } from './auth/permission-sets.ts';
import { openTokens } from './auth/tokens/open-tokens.ts';
import type { Verifier } from './auth/api-keys/verifier.ts';
import type { Log } from './telemetry/log.ts';
import { createGatewayMetrics } from './telemetry/metrics.ts';
import { keepSnapshot } from './api/openapi/snapshot.ts';
import { createSessions } from './api/mcp/sessions.ts';
import { createService } from './services/service.ts';
import { createLeasedLimiter, type LimitKind } from './shared-state/leased-limiter.ts';
import { ALONE } from './shared-state/shared-state.ts';
import { openValkeyState } from './shared-state/valkey-state.ts';
import { askForCallSlots } from './shared-state/worker-calls.ts';
import { createWorkerState } from './shared-state/worker-state.ts';
import { createLeasedBodies } from './workers/leased-bodies.ts';
import { createLeasedResults } from './workers/leased-results.ts';
import { reportMetrics } from './workers/replica-metrics.ts';
import { askForKeys } from './workers/shared-keys.ts';
import type { Replica } from './workers/replica.ts';

export interface RunningGateway {
  readonly port: number;
  /** Answers what was accepted, for at most 25 s, and closes everything. */
  shutDown(signal: string): Promise<void>;
}

export interface Surroundings {
  readonly log: Pick<Log, 'observe' | 'recordsLost'>;
  readonly verifier: Verifier;
  readonly replica: Replica;
  /** Of the gateway itself. */
  readonly version: string;
}

/** How long the errors of the calls that the shutdown cuts off may take to be sent. */
const CUT_OFF_MS = 1000;

/** The one place that connects the modules of the gateway with each other. Rejects when it cannot listen. */
export async function startGateway(
  config: GatewayConfig,
  { log, verifier, replica, version }: Surroundings,
): Promise<RunningGateway> {
  const now = (): number => performance.now();
  const { channel } = replica;
  const budget =
    channel === undefined
      ? createResultBudget(RESULT_MAX_BYTES)
      : createLeasedResults(channel, RESULT_MAX_BYTES);
  const bodiesMaxBytes = bodyMemoryOf(config);
  const sharePermissions = createSharePermissions();
  const clocks = { now, wallClock: Date.now };
  let authority: KeyAuthority | undefined;
  const authenticator =
    channel === undefined
      ? (authority = createAuthenticator({
          ...clocks,
          services: config.services,
          verify: (plaintext, bcryptHash) => verifier.verify(plaintext, bcryptHash),
          sharePermissions,
        }))
      : askForKeys(channel, { ...clocks, sharePermissions });
  const register = config.metricsListen && (await createMetricsRegister());
  let { observe } = log;
  const valkey =
    channel === undefined
      ? openValkeyState(config, {
          services: () => config.services,
          onRevoked: (keyIds) => authority?.setRevoked(keyIds),
          observe: (event) => observe(event),
        })
      : undefined;
  const shared = channel === undefined ? (valkey ?? ALONE) : createWorkerState(channel, config);
  const { revocations } = shared;
  const [ofDefault] = config.services;
  const tokenConfig = ofDefault?.tokens;
  const issuers = tokenConfig?.issuers ?? [];
  const protectedResource = tokenConfig && createProtectedResource(tokenConfig.publicUrl, issuers);
  const tokens =
    tokenConfig &&
    protectedResource &&
    openTokens({
      ...tokenConfig,
      metadataUrl: protectedResource.metadataUrl,
      sharePermissions,
      onKeys: (event) => observe(event),
    });
  if (register !== undefined) {
    const count = createGatewayMetrics(register, {
      requestsInFlight: () => http.inFlight,
      agentConnections: () => service.registry.connections,
      agentCallsInFlight: () => service.registry.callsInFlight,
      resultBytesReserved: () => budget.reservedBytes,
      authentication: () => authenticator.counters,
      tokens: tokens && (() => tokens.counters),
      valkey: valkey?.counters,
      logRecordsLost: () => log.recordsLost,
      isCapability: (name) => service.catalog.knows(name),
    });
    observe = (event) => {
      log.observe(event);
      count(event);
    };
  }
  const limiterOf = (kind: LimitKind, rate: Rate | undefined): RequestLimiter | undefined => {
    if (rate === undefined) return undefined;
    const local = createRateLimiter({ ...rate, now });
    const ask = shared.leases?.(kind, rate);
    return ask === undefined ? local : createLeasedLimiter({ rate, local, ask, now });
  };
  const principalRate = limiterOf('principal', config.principalRateLimit);
  const rateLimiter = limiterOf('source', config.rateLimit);
  const { principalMaxConcurrentCalls } = config;
  const slotsOf = (maxCalls: number): CallSlots =>
    channel === undefined ? createCallSlots(maxCalls) : askForCallSlots(channel);
  const callSlots =
    principalMaxConcurrentCalls === undefined ? undefined : slotsOf(principalMaxConcurrentCalls);
  const described = { publicUrl: config.publicUrl, issuers };
  const service = createService(
    { tokens, described },
    {
      authenticator,
      refuseOrigin: createOriginCheck({ ...config, listenHost: config.listen.host }),
      bodyLimits: {
        maxBytes: config.maxRequestBodyBytes,
        timeoutMs: config.bodyReadTimeoutMs,
        budget:
          channel === undefined
            ? createBodyBudget(bodiesMaxBytes)
            : createLeasedBodies(channel, bodiesMaxBytes, replica.workers, now),
      },
      rateLimiter,
      principalRate,
      revocations,
      limitCalls: (callCapability) =>
        callSlots === undefined ? callCapability : limitConcurrentCalls(callSlots, callCapability),
      sessions: createSessions(replica.sessionSecret),
      version,
      observe,
      now,
    },
  );
  const { registry, catalog } = service;
  if (config.emitOpenapiSnapshot) keepSnapshot(catalog, described, observe, process.cwd());
  const endpoint = createAgentEndpoint({
    rules: {
      publicKeys: ofDefault?.agentPublicKeys ?? [],
      audiences: config.agentUrls,
      replicaId: replica.id,
      maxParamsBytes: config.maxRequestBodyBytes,
    },
    registry,
    catalog,
    budget,
    observe,
  });
  let shuttingDown = false;
  const health = { agentConnected: () => registry.connected, shuttingDown: () => shuttingDown, revocations };
  const http = createGatewayServer({
    handlers: {
      ...service.handlers,
      health: createHealth(health),
      ready: createReady(health),
      agent: createAgentUpgradeHandler(endpoint),
    },
    resolveSource: createSourceResolver({
      allowList: config.ipAllowList,
      trustedProxies: config.trustedProxies,
    }),
    rateLimiter,
    cors: createCors(config.corsOrigins),
    tls: config.tls,
    bodyReadTimeoutMs: config.bodyReadTimeoutMs,
    unknownCaller: tokenConfig === undefined ? undefined : UNKNOWN_CALLER,
    protectedResource,
    observe,
    now,
  });
  const onAcceptFailure = (failure: AcceptFailure): void => observe({ event: 'accept_failed', ...failure });
  // The metrics of a worker are on the page of its primary.
  const scraped =
    register && channel === undefined
      ? await serveMetrics(register, config.metricsListen, 'GATEWAY_METRICS_ADDR', onAcceptFailure)
      : undefined;
  const tellMetrics = register && channel && reportMetrics(channel, register);
  if (scraped !== undefined) {
    observe({ event: 'metrics_listening', address: scraped.address, port: scraped.port });
  }
  const { address, port } = await listen(http.server, config.listen, 'GATEWAY_ADDR', onAcceptFailure);
  const scheme = config.tls === undefined ? 'http' : 'https';
  const host = config.listen.host ?? 'localhost';
  const url = `${scheme}://${host.includes(':') ? `[${host}]` : host}:${port}`;
  observe({ event: 'listening', url, address, port });
  return {
    port,
    async shutDown(signal) {
      shuttingDown = true;
      observe({ event: 'shutting_down', signal, in_flight: http.inFlight });
      endpoint.goAway();
      await http.drain(DRAIN_TIMEOUT_MS);
      // Calls that this cuts off still get their error.
      await Promise.all([endpoint.close(), http.answered(CUT_OFF_MS)]);
      http.server.closeAllConnections();
      tokens?.close();
      valkey?.close();
      await verifier.close();
      // Last, so that the end can be watched.
      await scraped?.close();
      await tellMetrics?.();
    },
  };
}
