import cluster from 'node:cluster';
import { randomBytes } from 'node:crypto';
import { isSea } from 'node:sea';
import {
  createDescriptorReserve,
  createMetricsRegister,
  createMetricsSum,
  errorText,
  firstSignal,
  leaveRemovedFolder,
  serveMetrics,
  startThread,
  type MetricsListener,
  proxiesOfEnvironment,
} from '@svc/edge';
import { WITHOUT_DEBUGGER } from '@svc/edge/ignore-signals';
import { RESULT_MAX_BYTES } from '@svc/protocol';
import type { LoadedServices } from './config/load.ts';
import type { ReadFile } from './config/read-settings.ts';
import { agentKeysOf } from './services/live-services.ts';
import { reloadServices } from './services/reload-services.ts';
import { createVerifier } from './auth/api-keys/verifier.ts';
import { createSharePermissions } from './auth/permission-sets.ts';
import { serveSharedState } from './valkey/shared-state.ts';
import { createHttpsFetch } from '@svc/identity';
import type { GatewayConfig } from './config/model.ts';
import { createSnapshotWriter } from './api/openapi/snapshot.ts';
import type { ConsoleListener } from './console/listener.ts';
import { bodyMemoryOf } from './http/request/json-body.ts';
import type { Executable } from './gateway.ts';
import { observeAll } from './telemetry/events.ts';
import type { Log } from './telemetry/log.ts';
import { shareSessions } from './cluster/primary/share-sessions.ts';
import { missingLinks } from './agents/agent-links.ts';
import {
  createReplicaCount,
  isFleet,
  linksPerReplicaOf,
  shareReplicaCount,
} from './cluster/replica-count.ts';
import { createSocketFolder } from './cluster/primary/socket-folder.ts';
import { createGatewayMetrics } from './telemetry/metrics.ts';
import { tellOnce, writeSnapshots } from './cluster/shared/once.ts';
import { passCancels } from './cluster/shared/mcp-cancels.ts';
import { forwardLines } from './cluster/primary/forward-lines.ts';
import { lendMemory } from './cluster/memory/loan-pools.ts';
import type { Listening } from './cluster/messages.ts';
import { createPrimaryChannel } from './cluster/primary/primary-channel.ts';
import { fetchIssuerKeys } from './cluster/shared/shared-issuers.ts';
import { openKeyAuthority } from './cluster/shared/shared-keys.ts';
import { createReplicaMetrics } from './cluster/shared/replica-metrics.ts';
import { createReturnConnections } from './cluster/primary/return-connections.ts';
import { createSupervisor } from './cluster/primary/supervisor.ts';
import { WORKER_NUMBER } from './ignored-signals.ts';

export interface PrimaryOptions {
  readonly config: GatewayConfig;
  readonly replicaId: string;
  /** Loads all services from the present contents of their files; undefined if there are no such files. */
  readonly loadServices: ((readFile: ReadFile) => LoadedServices) | undefined;
  readonly log: Log;
  /** Of the configuration. */
  readonly warnings: readonly string[];
  readonly executable: Executable;
}

/** Readings that only workers have. */
const SERVES_NOTHING = {
  requestsInFlight: () => 0,
  agents: { connections: () => 0, callsInFlight: () => 0 },
  resultBytesReserved: () => 0,
  isCapability: () => false,
};
/** Descriptors of the pipes that Node.js opens to start a worker. */
const FILES_OF_A_START = 16;
/** How long the workers may take to report how many requests they have. */
const COUNT_MS = 500;

/** The process that starts the workers of a replica, and does for all of them what is done once per replica. */
export async function runPrimary({
  config,
  replicaId,
  loadServices,
  log,
  warnings,
  executable,
}: PrimaryOptions): Promise<void> {
  const { version, helper, exitFailure } = executable;
  const observers = [log.observe];
  const observe = observeAll(observers);
  const now = (): number => performance.now();
  const startedAt = performance.now();
  let { services } = config;
  const sessionSecret = randomBytes(32);
  let { listen } = config;
  let bound: Listening | undefined;
  const channel = createPrimaryChannel();
  writeSnapshots(channel, createSnapshotWriter(process.cwd(), observe));
  passCancels(channel);
  tellOnce(channel, observe, now);
  channel.on('source_known', (known, worker) => channel.broadcast('source_known', known, worker));
  const issuerKeys = fetchIssuerKeys(
    channel,
    observe,
    createHttpsFetch(proxiesOfEnvironment(config.proxyVariables)),
  );
  issuerKeys.setServices(config.services);
  lendMemory(channel, { results: RESULT_MAX_BYTES, bodies: bodyMemoryOf(config) });
  const verifier = createVerifier({ spawn: () => startThread(helper) });
  const authority = openKeyAuthority(channel, {
    services: config.services,
    verify: (plaintext, bcryptHash) => verifier.verify(plaintext, bcryptHash),
    now,
    wallClock: Date.now,
    sharePermissions: createSharePermissions(),
  });
  channel.answer('start', (worker) => {
    if (worker.version !== version)
      throw new Error('the executable is not the one that the primary runs; restart the service');
    const ageMs = performance.now() - startedAt;
    // When no worker listens any more the address is free; a port that the system chose must stay the same.
    if (bound !== undefined && supervisor.listening === 0) listen = { ...listen, port: bound.port };
    return {
      config: { ...config, listen, services },
      replicaId,
      sessionSecret,
      workers: config.workers,
      ageMs,
    };
  });
  const folder = createSocketFolder();
  process.on('exit', () => folder.remove());
  let agentKeys = agentKeysOf(services);
  const sessions = shareSessions(
    channel,
    folder,
    (service, keyId) => agentKeys.get(keyId)?.service === service,
  );
  const replicaCount = createReplicaCount(config.replicas, { observe });
  shareReplicaCount(channel, replicaCount);
  cluster.schedulingPolicy = cluster.SCHED_RR;
  cluster.setupPrimary({
    args: [],
    execArgv: isSea() ? [] : [...process.execArgv, ...WITHOUT_DEBUGGER],
    serialization: 'advanced',
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  });
  const returnConnections = createReturnConnections();
  const reserve = createDescriptorReserve(FILES_OF_A_START);
  const supervisor = createSupervisor({
    workers: config.workers,
    channel,
    observe,
    now,
    fork(number) {
      leaveRemovedFolder();
      const worker = reserve.spend(() => cluster.fork({ [WORKER_NUMBER]: String(number) }));
      returnConnections(worker);
      return worker.process;
    },
    onOutput({ stdout, stderr }) {
      if (stdout !== null) forwardLines(stdout, log.lines.forward, log.lines.whenSpace);
      if (stderr !== null)
        forwardLines(
          stderr,
          (lines) => process.stderr.write(lines),
          (listener) => process.stderr.once('drain', listener),
        );
    },
  });
  const shared = serveSharedState(config, {
    channel,
    onRevoked: (keyIds) => authority.setRevoked(keyIds),
    observe,
    now,
  });
  const watch =
    loadServices &&
    reloadServices({
      paths: config.reloadedFiles,
      load: loadServices,
      services,
      apply(next) {
        services = next;
        agentKeys = agentKeysOf(services);
        sessions.forgetUnknown();
        authority.setRecords(services);
        shared.setServices(services);
        issuerKeys.setServices(services);
        channel.broadcast('services', { services });
      },
      observe,
    });
  let signalled = false;
  // After a second signal. If this process is killed, the workers notice it by themselves.
  process.on('exit', () => signalled && supervisor.kill());
  if (watch !== undefined) process.on('SIGHUP', () => signalled || watch.look());
  void firstSignal(exitFailure, watch === undefined ? ['SIGHUP'] : []).then(async (signal) => {
    signalled = true;
    watch?.close();
    await shutDown(signal);
    await log.close();
    process.exit();
  });

  async function shutDown(signal: string): Promise<void> {
    const counts = new Map<number, number>();
    let told = (): void => {
      told = () => {};
      clearTimeout(timer);
      const inFlight = [...counts.values()].reduce((sum, count) => sum + count, 0);
      observe({ event: 'shutting_down', signal, in_flight: inFlight });
    };
    const timer = setTimeout(() => told(), COUNT_MS);
    channel.on('draining', ({ in_flight: count }, worker) => {
      counts.set(worker, count);
      if (counts.size === config.workers) told();
    });
    await supervisor.shutDown(signal);
    told();
    shared.close();
    issuerKeys.close();
    replicaCount.close();
    await verifier.close();
    await opened?.close();
    await scraped?.close();
  }

  async function openMetrics(): Promise<MetricsListener | undefined> {
    if (config.metricsListen === undefined) return undefined;
    const takesTokens = config.hasServicesFile || config.services.some(({ tokens }) => tokens !== undefined);
    const own = await createMetricsRegister();
    const count = createGatewayMetrics(own, {
      ...SERVES_NOTHING,
      hasServices: config.hasServicesFile,
      reloads: config.reloadedFiles.length > 0,
      fleet: isFleet(config)
        ? {
            replicas: () => replicaCount.current,
            linksMissing: () => missingLinks(sessions.all, linksPerReplicaOf(config)),
            singleLinks: () => 0,
          }
        : undefined,
      authentication: () => authority.counters,
      tokens: takesTokens
        ? () => ({ cacheHits: 0, cacheMisses: 0, fetchFailures: issuerKeys.fetchFailures })
        : undefined,
      valkey: shared.valkey,
      logRecordsLost: () => log.recordsLost,
      workerRestarts: () => supervisor.restarts,
    });
    observers.push(count);
    const page = createReplicaMetrics({
      channel,
      own,
      sum: await createMetricsSum(),
      hasExemplars: config.traces !== undefined,
    });
    const listener = await serveMetrics(page, config.metricsListen, 'GATEWAY_METRICS_ADDR', (failure) =>
      observe({ event: 'accept_failed', ...failure }),
    );
    observe({ event: 'metrics_listening', address: listener.address, port: listener.port });
    return listener;
  }

  const console =
    config.console &&
    (await import('./console/in-primary.ts')).createPrimaryConsole({
      config,
      embedded: executable.consoleAssets,
      channel,
      folder: folder.path,
      replica: replicaId,
      version,
      warnings,
      configured: () => services,
      observe,
    });
  if (console !== undefined) observers.push(console.observe);
  let scraped: MetricsListener | undefined;
  let opened: ConsoleListener | undefined;
  try {
    scraped = await openMetrics();
    opened = await console?.open();
    bound = await supervisor.start();
    observe({ event: 'listening', ...bound });
  } catch (error) {
    process.stderr.write(`svc-gateway: cannot start: ${errorText(error)}\n`);
    supervisor.kill();
    await log.close();
    process.exit(exitFailure);
  }
}
