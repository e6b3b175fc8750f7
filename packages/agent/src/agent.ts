import { createHash, randomUUID } from 'node:crypto';
import { createMetricsRegister, serveMetrics, type AcceptFailure } from '@svc/edge';
import { createTokenVerifier, type Issuer, type TokenVerifier } from '@svc/identity';
import { agentKeyId, privateKeyFromSeed, rawPublicKey, RESULT_MAX_BYTES } from '@svc/protocol';
import { createCallerLoads } from './calls/caller-loads.ts';
import { createConcurrencyLimit } from './calls/concurrency-limit.ts';
import { createIdentifyCaller } from './calls/identify-caller.ts';
import { createResultMemory } from './calls/result-memory.ts';
import { createRunCall, type RunnableCapability } from './calls/run-call.ts';
import { compileParameters } from './capabilities/parameters.ts';
import { compilePinned } from './capabilities/pinned-parameters.ts';
import type { Database } from './databases/driver.ts';
import { openAllLinks } from './gateway-link/all-links.ts';
import type { Place } from './gateway-link/link-keeper.ts';
import type { LinkPlace, Observe } from './telemetry/events.ts';
import type { Log } from './telemetry/log.ts';
import { createAgentMetrics } from './telemetry/metrics.ts';
import type { VerifiedAgent } from './start-up/report.ts';

export interface RunningAgent {
  /** Answers what runs, for at most 25 s, and closes everything. */
  shutDown(signal: string): Promise<void>;
}

export interface AgentParts extends VerifiedAgent {
  readonly database: Database;
  /** How often a worker was started again; absent without workers. */
  readonly workerRestarts?: (() => number) | undefined;
}

/**
 * Connects the modules of the agent with each other, once everything has passed the start-up checks. Rejects with
 * CannotListen.
 */
export async function startAgent(
  { config, database, prepared, description, workerRestarts }: AgentParts,
  log: Log,
): Promise<RunningAgent> {
  const { runtime, gateway } = config;
  const capabilities = new Map<string, RunnableCapability>();
  const queries = new Map(prepared.map((each) => [each.capability, database.prepare(each)]));
  for (const capability of config.capabilities) {
    const query = queries.get(capability.name);
    if (query === undefined) throw new Error(`cannot start: ${capability.name} has not been verified`);
    const { timeoutMs, maxBytes } = capability.limits;
    const read = compileParameters(capability);
    const pin = compilePinned(capability.params);
    capabilities.set(capability.name, {
      read,
      ...(pin === undefined ? {} : { pin }),
      query,
      timeoutMs,
      maxBytes,
    });
  }
  const concurrencyLimit = createConcurrencyLimit(runtime.maxConcurrentRequests, runtime.queueSize);
  const register = config.metricsListen && (await createMetricsRegister());
  let { observe } = log;
  if (register !== undefined) {
    const count = createAgentMetrics(register, {
      links: () => links.held,
      linksWanted: () => links.wanted,
      dials: () => links.dials,
      callsRunning: () => concurrencyLimit.running,
      callsQueued: () => concurrencyLimit.queued,
      database: () => database.connections,
      databaseIsUp: () => database.isUp,
      maxDatabaseConnections: config.database.maxConnections,
      logRecordsLost: () => log.recordsLost,
      workerRestarts,
    });
    observe = (event) => {
      log.observe(event);
      count(event);
    };
  }
  const onAcceptFailure = (failure: AcceptFailure): void => observe({ event: 'accept_failed', ...failure });
  const scraped =
    register && (await serveMetrics(register, config.metricsListen, 'metrics.addr', onAcceptFailure));
  if (scraped !== undefined) {
    observe({ event: 'metrics_listening', address: scraped.address, port: scraped.port });
  }
  const { identity } = config;
  const verifier = identity?.trust === 'token' ? openVerifier(identity.issuers, observe) : undefined;
  const privateKey = privateKeyFromSeed(gateway.privateKeySeed);
  let draining = false;
  const links = openAllLinks({
    urls: gateway.urls,
    maxLinks: gateway.maxLinks,
    resolveIntervalMs: gateway.resolveIntervalMs,
    ca: gateway.ca,
    identity: {
      instanceId: randomUUID(),
      keyId: agentKeyId(rawPublicKey(privateKey)),
      privateKey,
      maxInflight: runtime.maxConcurrentRequests + runtime.queueSize,
      manifestSha256: createHash('sha256').update(description).digest('hex'),
      trust: identity?.trust,
      ...(config.serviceId === undefined ? {} : { service: config.serviceId }),
    },
    handle: createRunCall({
      capabilities,
      description,
      service: config.serviceId,
      ...(identity === undefined ? {} : { identify: createIdentifyCaller(identity, verifier, Date.now) }),
      callerLoads: createCallerLoads(),
      concurrencyLimit,
      resultMemory: createResultMemory(RESULT_MAX_BYTES),
      observe,
      now: () => performance.now(),
      draining: () => draining,
    }),
    onConnected: (url, { connId, place }) => {
      observe({ event: 'connected', gateway: url, conn_id: connId, ...placeFields(place) });
    },
    onLost: (url, { reason, connId, place }, retryInMs) => {
      observe({
        event: 'disconnected',
        gateway: url,
        reason,
        ...(connId === undefined ? {} : { conn_id: connId }),
        ...(retryInMs === undefined ? {} : { retry_in_ms: retryInMs }),
        ...placeFields(place),
      });
    },
    onShort: (url, { reason, links: held, wanted }) => {
      observe({ event: 'links_short', gateway: url, reason, links: held, links_wanted: wanted });
    },
    random: Math.random,
  });
  return {
    async shutDown(signal) {
      draining = true;
      observe({
        event: 'shutting_down',
        signal,
        in_flight: concurrencyLimit.running + concurrencyLimit.queued,
      });
      await links.stop();
      verifier?.close();
      await database.close();
      // Last, so that the end can be watched.
      await scraped?.close();
    },
  };
}

function placeFields(place: Place | undefined): LinkPlace {
  return place === undefined ? {} : { replica_id: place.replicaId, worker: place.worker };
}

/** As the gateway does it unless its settings say otherwise. */
const CLOCK_SKEW_MS = 30_000;
const KEYS_REFRESH_MS = 600_000;
const KEYS_MAX_STALE_MS = 24 * 3_600_000;

function openVerifier(issuers: readonly Issuer[], observe: Observe): TokenVerifier {
  return createTokenVerifier({
    issuers,
    clockSkewMs: CLOCK_SKEW_MS,
    refreshMs: KEYS_REFRESH_MS,
    maxStaleMs: KEYS_MAX_STALE_MS,
    onKeys: observe,
  });
}
