import { createMetricsRegister, listen, serveMetrics, type AcceptFailure } from '@svc/edge';
import { DEFAULT_SERVICE, DRAIN_TIMEOUT_MS, RESULT_MAX_BYTES } from '@svc/protocol';
import { createAgentEndpoint } from './agents/endpoint.ts';
import { createSessionDirectory } from './agents/session-directory.ts';
import { createResultBudget } from './agents/result-budget.ts';
import { createAgentUpgradeHandler } from './agents/serve-upgrade.ts';
import { limitConcurrentCalls } from './calls/concurrent-calls.ts';
import type { GatewayConfig } from './config/model.ts';
import { bodyMemoryOf, createBodyBudget } from './http/request/json-body.ts';
import { createCors } from './access/cors.ts';
import { createHealth, createReady } from './api/health.ts';
import { createSettling } from './api/settling.ts';
import { createProtectedResource } from './api/protected-resource.ts';
import { createAgentLinks } from './agents/agent-links.ts';
import { linksPerReplicaOf } from './replicas/links-per-replica.ts';
import { createReplicaCount } from './replicas/replica-count.ts';
import { UNKNOWN_CALLER } from './telemetry/events.ts';
import { createOriginCheck } from './access/origin.ts';
import { createRateLimiter } from './access/rate-limit.ts';
import { createGatewayServer } from './http/server.ts';
import { createSourceResolver } from './network/client-address.ts';
import { createAuthenticator } from './auth/api-keys/authenticator.ts';
import { createSharePermissions } from './auth/permission-sets.ts';
import { openTokens } from './auth/tokens/open-tokens.ts';
import type { Verifier } from './auth/api-keys/verifier.ts';
import type { Log } from './telemetry/log.ts';
import { createGatewayMetrics } from './telemetry/metrics.ts';
import { createSnapshotWriter, keepSnapshot, type WriteSnapshot } from './api/openapi/snapshot.ts';
import { createSessions, type Sessions } from './api/mcp/sessions.ts';
import { createService } from './services/service.ts';
import { joinSiblings } from './siblings/join-siblings.ts';
import { cancelAnywhere } from './workers/shared/mcp-cancels.ts';
import { createLeasedBodies } from './workers/memory/leased-bodies.ts';
import { createLeasedResults } from './workers/memory/leased-results.ts';
import { reportMetrics } from './workers/shared/replica-metrics.ts';
import { followIssuerKeys } from './workers/shared/shared-issuers.ts';
import { askForKeys } from './workers/shared/shared-keys.ts';
import type { Replica } from './workers/replica.ts';

export interface RunningGateway {
  readonly port: number;
  /**
   * Says that it is not ready, serves on for the delay of the configuration, answers what was accepted, for at most 25 s,
   * and closes everything.
   */
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
  const siblings = channel && (await joinSiblings({ channel, worker: replica.worker ?? 0, budget }));
  const bodiesMaxBytes = bodyMemoryOf(config);
  const sharePermissions = createSharePermissions();
  const clocks = { now, wallClock: Date.now };
  const authenticator =
    channel === undefined
      ? createAuthenticator({
          ...clocks,
          services: config.services,
          verify: (plaintext, bcryptHash) => verifier.verify(plaintext, bcryptHash),
          sharePermissions,
        })
      : askForKeys(channel, { ...clocks, sharePermissions });
  const register = config.metricsListen && (await createMetricsRegister());
  let { observe } = log;
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
      openKeySet: channel && followIssuerKeys(channel)(DEFAULT_SERVICE),
    });
  if (register !== undefined) {
    const count = createGatewayMetrics(register, {
      requestsInFlight: () => http.inFlight,
      agentConnections: () => service.registry.connections,
      agentCallsInFlight: () => service.registry.callsInFlight,
      // Of a replica with workers the primary says it.
      replicas: () => (channel === undefined ? replicaCount.current : 0),
      linksMissing: () => (channel === undefined ? links.missing : 0),
      singleLinks: () => links.single,
      resultBytesReserved: () => budget.reservedBytes,
      authentication: () => authenticator.counters,
      tokens: tokens && (() => tokens.counters),
      logRecordsLost: () => log.recordsLost,
      siblingCalls: siblings && (() => siblings.calls),
      isCapability: (name) => service.catalog.knows(name),
    });
    observe = (event) => {
      log.observe(event);
      count(event);
    };
  }
  const principalRate =
    config.principalRateLimit === undefined
      ? undefined
      : createRateLimiter({ ...config.principalRateLimit, now });
  const rateLimiter =
    config.rateLimit === undefined ? undefined : createRateLimiter({ ...config.rateLimit, now });
  const settling = createSettling(config.readyAfterMs - replica.ageMs, now);
  const { principalMaxConcurrentCalls } = config;
  const sessions: Sessions = createSessions(
    replica.sessionSecret,
    channel && cancelAnywhere(channel, () => sessions),
  );
  const described = { publicUrl: config.publicUrl, issuers };
  const service = createService(
    { id: DEFAULT_SERVICE, tokens, described, agentCame: () => settling.came(DEFAULT_SERVICE) },
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
      limitCalls: (callCapability) =>
        principalMaxConcurrentCalls === undefined
          ? callCapability
          : limitConcurrentCalls(principalMaxConcurrentCalls, callCapability),
      directoryOf:
        siblings?.directoryOf ?? ((_id, registry, catalog) => createSessionDirectory(registry, catalog)),
      sessions,
      version,
      observe,
      now,
      agentWaitMs: config.agentWaitMs,
    },
  );
  const { registry, catalog } = service;
  if (config.emitOpenapiSnapshot) {
    const write: WriteSnapshot =
      channel === undefined
        ? createSnapshotWriter(process.cwd(), observe)
        : (id, bytes) => channel.tell('snapshot', { service: id, bytes });
    keepSnapshot(catalog, described, (bytes) => write(DEFAULT_SERVICE, bytes));
  }
  const replicaCount = replica.replicaCount ?? createReplicaCount(config.replicas, { observe });
  const linksPerReplica = linksPerReplicaOf(config);
  const links = createAgentLinks({
    replicaCount: () => replicaCount.current,
    linksPerReplica,
    maxLinks: config.maxAgentLinks,
    observe,
    now,
  });
  replicaCount.onChange(() => links.replicaCountChanged());
  const endpoint = createAgentEndpoint({
    rules: {
      publicKeys: ofDefault?.agentPublicKeys ?? [],
      audiences: config.agentUrls,
      replicaId: replica.id,
      worker: replica.worker ?? 0,
      replicaCount: () => replicaCount.current,
      linksPerReplica,
      serviceOf: () => DEFAULT_SERVICE,
      maxParamsBytes: config.maxRequestBodyBytes,
    },
    directory: service.directory,
    budget,
    links,
    observe,
    ...(channel && {
      siblings: {
        workers: replica.workers,
        onKnown: (source) => channel.tell('source_known', { source }),
      },
    }),
  });
  channel?.on('source_known', ({ source }) => endpoint.sourceKnown(source));
  let shuttingDown = false;
  const health = {
    agentConnected: () => registry.connected,
    shuttingDown: () => shuttingDown,
    settled: () => settling.settled,
  };
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
    workers: replica.workers,
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
      await delayShutdown(config.shutdownDelayMs, channel);
      endpoint.goAway();
      await http.drain(DRAIN_TIMEOUT_MS);
      // Calls of other workers may still be at agents of this one.
      await siblings?.leave(DRAIN_TIMEOUT_MS);
      service.stopWaiting();
      // Calls that this cuts off still get their error.
      await Promise.all([endpoint.close(), http.answered(CUT_OFF_MS)]);
      http.server.closeAllConnections();
      replicaCount.close();
      tokens?.close();
      await verifier.close();
      // Last, so that the end can be watched.
      await scraped?.close();
      await tellMetrics?.();
    },
  };
}

/** Resolves when the time is over, or when the primary is gone, without which no connection comes that could be served. */
function delayShutdown(ms: number, channel: Replica['channel']): Promise<void> {
  return new Promise((resolve) => {
    if (ms === 0) resolve();
    else setTimeout(resolve, ms);
    channel?.onLost(resolve);
  });
}
