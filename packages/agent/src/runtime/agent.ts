import { randomUUID } from 'node:crypto';
import {
  createMetricsRegister,
  exemptHosts,
  parseProxyUrl,
  proxiesOfEnvironment,
  serveMetrics,
  type AcceptFailure,
  type FindProxy,
  type MetricsRegister,
  type ProxyVariables,
} from '@svc/edge';
import { createHttpsFetch, createTokenVerifier } from '@svc/identity';
import { createAdmissions } from '../calls/admissions.ts';
import { createIdentifyCaller } from '../calls/identify-caller.ts';
import { createRunCall } from '../calls/run-call.ts';
import { prepareSet } from '../calls/served-set.ts';
import type { AgentConfig } from '../config/model.ts';
import { UNNAMED } from '../capabilities/database-names.ts';
import type { Swapped } from '../reload/reloader.ts';
import { databasesOf, type OpenedDatabase, type OpenedDatabases } from '../databases/opened.ts';
import { createServing } from '../reload/serving.ts';
import type { Observe } from '../telemetry/events.ts';
import type { Log } from '../telemetry/log.ts';
import { createAgentMetrics } from '../telemetry/metrics.ts';
import { openAgentTraces } from '../telemetry/traces.ts';
import type { VerifiedAgent } from '../start-up/report.ts';
import type { OpenLinks } from './open-links.ts';

export interface RunningAgent {
  /** What is served now. */
  readonly verified: VerifiedAgent;
  /** Puts events about this agent into log and metrics. */
  readonly observe: Observe;
  /** As in `Serving`; only what `restartFaults` allows may differ. */
  swap(verified: VerifiedAgent, ended?: ReadonlySet<string>): Promise<Swapped>;
  /** From now on tells `listener`, and at once what it would have told before, of capabilities as in `SharingEnded`. */
  whenSharingEnds(listener: (capability: string) => void): void;
  /** Tells the gateways; to be called when a database was lost or is back. */
  databasesChanged(): void;
  /** Waits at most 25 s for running calls, and closes everything. */
  shutDown(signal: string): Promise<void>;
}

export interface AgentParts {
  readonly verified: VerifiedAgent;
  readonly opened: OpenedDatabases;
  readonly version: string;
  readonly proxyVariables: ProxyVariables;
  /** Opens a database that is new in the file, or has other settings. */
  readonly openDatabase: (config: AgentConfig, name: string) => Promise<OpenedDatabase>;
  readonly whenSharingEnds: RunningAgent['whenSharingEnds'];
  readonly openLinks: OpenLinks;
  /**
   * That of the process, which serves its metrics and has none of links; absent: the agent's own, if the file asks for one.
   */
  readonly register?: MetricsRegister | undefined;
}

/** Connects the modules of the agent with each other, when everything has passed the checks. Rejects with CannotListen. */
export async function startAgent(
  {
    verified,
    opened,
    version,
    openDatabase,
    proxyVariables,
    whenSharingEnds,
    openLinks,
    ...given
  }: AgentParts,
  log: Log,
): Promise<RunningAgent> {
  const { config } = verified;
  const { runtime, gateway } = config;
  const isNamed = !Object.hasOwn(config.databases, UNNAMED);
  const set = await prepareSet(verified, databasesOf(opened));
  const admissions = createAdmissions(runtime);
  const instanceId = randomUUID();
  const traces =
    config.traces &&
    (await openAgentTraces(config.traces, {
      version,
      instanceId,
      systemOf: (capability) => serving.systemOf(capability),
    }));
  const register =
    given.register ?? (config.metricsListen && (await createMetricsRegister(traces !== undefined)));
  let { observe } = log;
  if (register !== undefined) {
    const count = createAgentMetrics(register, {
      links: given.register === undefined ? () => links.counts : undefined,
      callsRunning: () => admissions.running,
      callsQueued: () => admissions.queued,
      databasesNamed: isNamed,
      databases: () => serving.databases,
      maxConnectionsOf: (name) => serving.verified.config.databases[name]?.maxConnections ?? 0,
      logRecordsLost: () => log.recordsLost,
      tracesDropped: traces && (() => traces.dropped),
      ...(runtime.workers === 1 ? {} : { workerRestarts: () => serving.workerRestarts ?? 0 }),
    });
    observe = (event) => {
      log.observe(event);
      count(event);
    };
  }
  const onAcceptFailure = (failure: AcceptFailure): void => observe({ event: 'accept_failed', ...failure });
  const scraped =
    given.register === undefined && register !== undefined && config.metricsListen !== undefined
      ? await serveMetrics(register, config.metricsListen, 'metrics.addr', onAcceptFailure)
      : undefined;
  if (scraped !== undefined) {
    observe({ event: 'metrics_listening', address: scraped.address, port: scraped.port });
  }
  const { identity } = config;
  const proxies = agentProxies(gateway, proxyVariables);
  const verifier =
    identity?.trust === 'token'
      ? createTokenVerifier(
          { ...KEY_TIMES, issuers: identity.issuers, onKeys: observe },
          createHttpsFetch(proxies.toIssuers),
        )
      : undefined;
  let draining = false;
  const serving = createServing({
    verified,
    set,
    opened,
    open: openDatabase,
    resize: (running, queued, databases) => admissions.resize(running, queued, databases),
    renewLinks: (offer) => links.renew(offer),
    handlerOf: (served) =>
      createRunCall({
        served,
        service: config.serviceId,
        ...(identity === undefined ? {} : { identify: createIdentifyCaller(identity, verifier, Date.now) }),
        admissions,
        observe,
        traces,
        now: () => performance.now(),
        draining: () => draining,
      }),
  });
  const links = openLinks({
    config,
    instanceId,
    offer: serving.offer,
    databases: () => serving.databaseStates,
    findProxy: proxies.toGateway,
    observe,
  });
  return {
    get verified() {
      return serving.verified;
    },
    observe,
    whenSharingEnds,
    async swap(changed, ended) {
      const swapped = await serving.swap(changed, ended);
      links.databasesChanged();
      return swapped;
    },
    databasesChanged: () => links.databasesChanged(),
    async shutDown(signal) {
      draining = true;
      observe({ event: 'shutting_down', signal, in_flight: admissions.running + admissions.queued });
      await links.stop();
      verifier?.close();
      await Promise.all([serving.close(), traces?.close()]);
      // Last, so that metrics can be scraped until the end.
      await scraped?.close();
    },
  };
}

/** The defaults of the gateway. */
const KEY_TIMES = { clockSkewMs: 30_000, refreshMs: 600_000, maxStaleMs: 24 * 3_600_000 } as const;

/**
 * `gateway.proxy` leads to the gateway and takes precedence over the environment, NO_PROXY included. The key sets of issuers
 * may be near: for them NO_PROXY and this machine are exempt.
 */
function agentProxies(
  { proxy, proxyCa }: { readonly proxy?: string; readonly proxyCa?: string },
  env: ProxyVariables,
): { readonly toGateway: FindProxy; readonly toIssuers: FindProxy } {
  if (proxy === undefined) {
    const ofEnvironment = proxiesOfEnvironment(env);
    return { toGateway: ofEnvironment, toIssuers: ofEnvironment };
  }
  const parsed = proxy === 'none' ? undefined : parseProxyUrl(proxy);
  if (parsed === undefined) return { toGateway: () => undefined, toIssuers: () => undefined };
  if ('problem' in parsed) throw new Error(`gateway.proxy ${parsed.problem}`);
  const named = { url: parsed.url, ca: proxyCa };
  const isExempt = exemptHosts(env);
  return {
    toGateway: () => named,
    toIssuers: ({ hostname }) => (isExempt(hostname) ? undefined : named),
  };
}
