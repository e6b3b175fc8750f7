import {
  createMetricsRegister,
  listen,
  proxiesOfEnvironment,
  serveMetrics,
  type AcceptFailure,
  type MetricsRegister,
  type Sample,
} from '@svc/edge';
import { DRAIN_TIMEOUT_MS, RESULT_MAX_BYTES } from '@svc/protocol';
import { createDescriptionBudget } from './agents/description-budget.ts';
import { createAgentEndpoint, createAgentUpgradeHandler, type EndpointOptions } from './agents/endpoint.ts';
import { createOwnAgent, type OwnAgent } from './agents/own-agent.ts';
import { createSessionDirectory } from './agents/session-directory.ts';
import { createResultBudget } from './agents/result-budget.ts';
import { limitConcurrentCalls } from './calls/permit-call.ts';
import type { GatewayConfig, ServiceConfig } from './config/model.ts';
import { bodyMemoryOf, createBodyBudget } from './http/request/json-body.ts';
import { createCors } from './access/cors.ts';
import { createHttpsFetch } from '@svc/identity';
import { basePathOf } from './network/base-path.ts';
import { createHealth, createReady } from './api/health.ts';
import { createSettling } from './api/settling.ts';
import { createAgentLinks } from './agents/agent-links.ts';
import { createReplicaCount, isFleet, linksPerReplicaOf } from './cluster/replica-count.ts';
import { observeAll, UNKNOWN_CALLER } from './telemetry/events.ts';
import { createOriginCheck } from './access/origin.ts';
import { createCompressor } from './http/compress.ts';
import { createGatewayServer } from './http/server.ts';
import { createSourceResolver } from './network/client-address.ts';
import { createSharePermissions } from './auth/permission-sets.ts';
import type { Verifier } from './auth/api-keys/verifier.ts';
import type { Log } from './telemetry/log.ts';
import { createGatewayMetrics } from './telemetry/metrics.ts';
import { openGatewayTraces } from './telemetry/traces.ts';
import { openSharedState } from './valkey/shared-state.ts';
import { createSnapshotWriter, keepSnapshot, type WriteSnapshot } from './api/openapi/snapshot.ts';
import { createSessions, type Sessions } from './api/mcp/sessions.ts';
import type { Service, ServiceParts } from './services/service.ts';
import { createLiveServices } from './services/live-services.ts';
import { reloadServices } from './services/reload-services.ts';
import { joinSiblings } from './cluster/link/join-siblings.ts';
import type { LoadedServices } from './config/load.ts';
import { originOf } from './config/parse/urls.ts';
import type { ReadFile } from './config/read-settings.ts';
import { cancelAnywhere } from './cluster/shared/mcp-cancels.ts';
import { createLentBodies } from './cluster/memory/lent-bodies.ts';
import { createLentResults } from './cluster/memory/lent-results.ts';
import { reportMetrics } from './cluster/shared/replica-metrics.ts';
import { followIssuerKeys } from './cluster/shared/shared-issuers.ts';
import { openKeys } from './cluster/shared/open-keys.ts';
import type { Replica } from './cluster/replica.ts';

export interface RunningGateway {
  readonly port: number;
  /** Checks at once whether the files of keys and services have changed. */
  reload(): void;
  /**
   * Reports that it is not ready, serves on for the configured delay, answers accepted requests for at most 25 s, and
   * closes everything. If the process that it serves for is gone (`abandoned`), it does so without delay and within 5 s.
   */
  shutDown(signal: string, abandoned?: 'abandoned'): Promise<void>;
}

/** What the executable holds besides its code. */
export interface Executable {
  readonly version: string;
  /** The code of a bcrypt thread. */
  readonly helper: string;
  /** The pages of the console. */
  readonly consoleAssets: string;
  /** The exit code of a process that fails. */
  readonly exitFailure: number;
}

export interface Surroundings {
  readonly log: Pick<Log, 'observe' | 'recordsLost'>;
  readonly verifier: Verifier;
  readonly replica: Replica;
  /** For a process that watches the files of keys and services: loads all services from their present contents. */
  readonly loadServices?: ((readFile: ReadFile) => LoadedServices) | undefined;
  readonly executable: Pick<Executable, 'version' | 'consoleAssets'>;
  /** Of the configuration. */
  readonly warnings?: readonly string[];
  /** If the agent is part of this process, so that none connects: called before the gateway listens. */
  readonly attachAgent?: ((ownAgent: OwnAgent) => Promise<void>) | undefined;
  /** Set with `attachAgent` if metrics are served: that of the agent, too. */
  readonly register?: MetricsRegister | undefined;
}

/** How long calls are still answered after the process that this one serves for is gone. */
const ABANDONED_DRAIN_MS = 2000;
const ABANDONED_CUT_OFF_MS = 250;
/** How long sending the errors of calls that the shutdown cuts off may take. */
const CUT_OFF_MS = 1000;

/** Connects the modules of the gateway with each other. Rejects if it cannot listen. */
export async function startGateway(
  config: GatewayConfig,
  { log, verifier, replica, loadServices, executable, warnings = [], attachAgent, ...given }: Surroundings,
): Promise<RunningGateway> {
  const now = (): number => performance.now();
  const { channel } = replica;
  const { version } = executable;
  const observers = [log.observe];
  const observe = observeAll(observers);
  const budget =
    channel === undefined
      ? createResultBudget(RESULT_MAX_BYTES)
      : createLentResults(channel, RESULT_MAX_BYTES);
  const siblings = channel && (await joinSiblings(channel, replica.worker ?? 0, budget));
  const bodiesMaxBytes = bodyMemoryOf(config);
  const sharePermissions = createSharePermissions();
  const { authenticator, setRecords, setRevoked } = openKeys({
    channel,
    verifier,
    services: config.services,
    sharePermissions,
    now,
  });
  const traces =
    config.traces &&
    (await openGatewayTraces({
      config: config.traces,
      version,
      replicaId: replica.id,
      secure: config.tls !== undefined,
      workers: replica.workers,
      now,
    }));
  const register =
    given.register ?? (config.metricsListen && (await createMetricsRegister(traces !== undefined)));
  const shared = openSharedState(config, {
    channel,
    onRevoked: setRevoked,
    observe,
    now,
  });
  const { rateLimiter, callSlots, revocations } = shared;
  const { hasServicesFile, readyDatabases } = config;
  const mayTakeTokens = config.services.some(({ tokens }) => tokens !== undefined) || hasServicesFile;
  const isCapability = (name: string, service: string | undefined): boolean =>
    (hasServicesFile ? services.find(service ?? '') : services.ofDefault)?.catalog.knows(name) === true;
  if (register !== undefined) {
    const count = createGatewayMetrics(register, {
      requestsInFlight: () => http.inFlight,
      hasServices: hasServicesFile,
      // In a replica with workers, the primary reads the files.
      reloads: channel === undefined && config.reloadedFiles.length > 0,
      agents:
        attachAgent === undefined
          ? {
              connections: () => ofServices(({ registry }) => registry.connections),
              callsInFlight: () => ofServices(({ registry }) => registry.callsInFlight),
            }
          : undefined,
      fleet: isFleet(config)
        ? {
            // In a replica with workers, the primary reports both.
            replicas: () => (channel === undefined ? replicaCount.current : 0),
            linksMissing: () => (channel === undefined ? links.missing : 0),
            singleLinks: () => links.single,
          }
        : undefined,
      resultBytesReserved: () => budget.reservedBytes,
      authentication: () => authenticator.counters,
      tokens: mayTakeTokens ? () => services.tokenCounters : undefined,
      valkey: shared.valkey,
      logRecordsLost: () => log.recordsLost,
      tracesDropped: traces && (() => traces.dropped),
      siblingCalls: siblings && (() => siblings.calls),
      isCapability,
    });
    observers.push(count);
  }
  let configured = config.services;
  const consolePart =
    config.console &&
    (await import('./console/in-process.ts')).createConsolePart({
      config,
      embedded: executable.consoleAssets,
      channel,
      replica: replica.id,
      version,
      warnings,
      isCapability,
      services: () => services.all,
      configured: () => configured,
      observe,
    });
  if (consolePart !== undefined) observers.push(consolePart.observe);
  const settling = createSettling(config.readyAfterMs - replica.ageMs, now);
  // No key is accepted until it is known which keys are revoked.
  const settled = (): boolean => settling.settled && revocations?.known !== false;
  let shuttingDown = false;
  const sessions: Sessions = createSessions(
    replica.sessionSecret,
    channel && cancelAnywhere(channel, () => sessions),
  );
  const parts: ServiceParts = {
    config,
    authenticator,
    sharePermissions,
    directoryOf: (service, registry, catalog) =>
      siblings?.directoryOf(service, registry, catalog) ?? createSessionDirectory(registry, catalog),
    refuseOrigin: createOriginCheck({ ...config, listenHost: config.listen.host }),
    bodyLimits: {
      maxBytes: config.maxRequestBodyBytes,
      timeoutMs: config.bodyReadTimeoutMs,
      budget:
        channel === undefined
          ? createBodyBudget(bodiesMaxBytes)
          : createLentBodies(channel, bodiesMaxBytes, replica.workers, now),
    },
    rateLimiter,
    principalRate: shared.principalRate,
    revocations,
    hasPrimary: channel !== undefined,
    limitCalls: (callCapability) =>
      callSlots === undefined ? callCapability : limitConcurrentCalls(callSlots, callCapability),
    sessions,
    compressor: config.compress === undefined ? undefined : createCompressor(),
    fetchBytes: createHttpsFetch(proxiesOfEnvironment(config.proxyVariables)),
    openKeySet: channel && followIssuerKeys(channel),
    shuttingDown: () => shuttingDown,
    settling: {
      came: (service) => settling.came(service),
      get settled() {
        return settled();
      },
    },
    version,
    traces,
    observe,
    now,
  };
  const writeSnapshot: WriteSnapshot =
    channel === undefined
      ? createSnapshotWriter(process.cwd(), observe)
      : (service, bytes) => channel.tell('snapshot', { service, bytes });
  const services = createLiveServices(config.services, parts, (service) => {
    if (config.emitOpenapiSnapshot) keepSnapshot(service, writeSnapshot);
  });
  /** One number if there is only one service. */
  const ofServices = (count: (service: Service) => number): number | readonly Sample[] =>
    hasServicesFile
      ? Array.from(services.all, (service): Sample => [[service.id], count(service)])
      : count(services.ofDefault);
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
  const endpointOptions: EndpointOptions = {
    rules: {
      agentKey: (keyId) => services.agentKey(keyId),
      audiences: config.agentUrls,
      replicaId: replica.id,
      worker: replica.worker ?? 0,
      replicaCount: () => replicaCount.current,
      linksPerReplica,
      maxParamsBytes: config.maxRequestBodyBytes,
    },
    severalServices: hasServicesFile,
    directoryOf: (service) => services.find(service)?.directory,
    budget,
    descriptions: createDescriptionBudget(() =>
      Array.from(services.all).flatMap(({ catalog }) => catalog.held),
    ),
    links,
    observe,
    ...(channel && {
      siblings: {
        workers: replica.workers,
        onKnown: (source) => channel.tell('source_known', { source }),
      },
    }),
  };
  const endpoint = attachAgent === undefined ? createAgentEndpoint(endpointOptions) : undefined;
  channel?.on('source_known', ({ source }) => endpoint?.sourceKnown(source));
  const health = {
    agentConnected: () => services.agentConnected,
    databasesReady: readyDatabases && (() => services.databasesReady(readyDatabases)),
    shuttingDown: () => shuttingDown,
    settled,
  };
  const basePath = basePathOf(config.publicUrl);
  const http = createGatewayServer({
    handlers: {
      ...services.ofDefault.handlers,
      health: createHealth(health),
      ready: createReady(health),
      agent: endpoint && createAgentUpgradeHandler(endpoint),
    },
    resolveSource: createSourceResolver({
      allowList: config.ipAllowList,
      trustedProxies: config.trustedProxies,
    }),
    rateLimiter,
    cors: createCors(config.corsOrigins),
    tls: config.tls,
    bodyReadTimeoutMs: config.bodyReadTimeoutMs,
    keepAliveMs: config.keepAliveMs,
    workers: replica.workers,
    get unknownCaller() {
      return services.takesTokens ? UNKNOWN_CALLER : undefined;
    },
    unknownService: hasServicesFile ? '' : undefined,
    metadata: mayTakeTokens ? services.metadata : undefined,
    console: config.consolePublic
      ? (await import('./console/caller-pages.ts')).createCallerPages(executable.consoleAssets, basePath)
      : undefined,
    services: hasServicesFile ? services : undefined,
    basePath,
    traces,
    observe,
    now,
  });
  const onAcceptFailure = (failure: AcceptFailure): void => observe({ event: 'accept_failed', ...failure });
  // The metrics of a worker are on the page of its primary.
  const scraped =
    register !== undefined && config.metricsListen !== undefined && channel === undefined
      ? await serveMetrics(register, config.metricsListen, 'GATEWAY_METRICS_ADDR', onAcceptFailure)
      : undefined;
  const tellMetrics = register && channel && reportMetrics(channel, register);
  if (scraped !== undefined) {
    observe({ event: 'metrics_listening', address: scraped.address, port: scraped.port });
  }
  const closeConsole = await consolePart?.open(http.accept);
  await attachAgent?.(createOwnAgent(services.ofDefault));
  const { address, port } = await listen(http.server, config.listen, 'GATEWAY_ADDR', onAcceptFailure);
  observe({ event: 'listening', url: originOf(config, config.listen.host, port), address, port });
  const apply = (next: readonly ServiceConfig[]): void => {
    configured = next;
    setRecords(next);
    shared.setServices(next);
    services.set(next);
    endpoint?.endUnknown();
  };
  // In a worker, the primary watches the files.
  channel?.on('services', ({ services: next }) => apply(next));
  const watch =
    loadServices &&
    reloadServices({
      paths: config.reloadedFiles,
      load: loadServices,
      services: config.services,
      apply,
      observe,
    });
  return {
    port,
    reload() {
      if (!shuttingDown) watch?.look();
    },
    async shutDown(signal, abandoned) {
      shuttingDown = true;
      watch?.close();
      observe({ event: 'shutting_down', signal, in_flight: http.inFlight });
      if (abandoned === undefined) await delayShutdown(config.shutdownDelayMs, channel);
      endpoint?.goAway();
      const drainMs = abandoned === undefined ? DRAIN_TIMEOUT_MS : ABANDONED_DRAIN_MS;
      const drainedAt = now() + drainMs;
      await http.drain(drainMs);
      // Agents of this worker may still run calls of other workers.
      await siblings?.leave(Math.max(0, drainedAt - now()));
      for (const service of services.all) service.stopWaiting();
      // Calls that are cut off here still get their error.
      await Promise.all([
        endpoint?.close(),
        http.answered(abandoned === undefined ? CUT_OFF_MS : ABANDONED_CUT_OFF_MS),
      ]);
      http.server.closeAllConnections();
      shared.close();
      replicaCount.close();
      services.close();
      await Promise.all([verifier.close(), traces?.close()]);
      // Last, so that operators can watch the shutdown.
      await closeConsole?.();
      await scraped?.close();
      await tellMetrics?.();
    },
  };
}

/** Resolves when the time is over, or the primary is gone: without it no connection arrives. */
function delayShutdown(ms: number, channel: Replica['channel']): Promise<void> {
  return new Promise((resolve) => {
    if (ms === 0) resolve();
    else setTimeout(resolve, ms);
    channel?.onLost(resolve);
  });
}
