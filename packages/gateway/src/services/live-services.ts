import type { TokenCounters } from '@svc/identity';
import { agentKeyId, DEFAULT_SERVICE } from '@svc/protocol';
import type { AgentKey } from '../agents/handshake.ts';
import type { WhichDatabases } from '../agents/registry.ts';
import { WELL_KNOWN, type ProtectedResource } from '../api/protected-resource.ts';
import type { ServiceConfig } from '../config/model.ts';
import type { ServedPaths, ServicesByPath } from '../http/server.ts';
import { createService, type Service, type ServiceParts } from './service.ts';

/** The services of this process, which may change while it runs. */
export interface LiveServices extends ServicesByPath {
  readonly ofDefault: Service;
  find(id: string): Service | undefined;
  readonly all: Iterable<Service>;
  agentKey(keyId: string): AgentKey | undefined;
  readonly metadata: ServedPaths;
  /** Whether any service has an agent. */
  readonly agentConnected: boolean;
  /** Like that of a registry; `all` asks for the databases of every service. */
  databasesReady(which: WhichDatabases): boolean;
  /** Whether any service takes tokens. */
  readonly takesTokens: boolean;
  /** Of all services, including those that were removed. */
  readonly tokenCounters: TokenCounters;
  /** Replaces all services; the default one is among `configs`. */
  set(configs: readonly ServiceConfig[]): void;
  close(): void;
}

/** `onService` is called for each new service. */
export function createLiveServices(
  configs: readonly ServiceConfig[],
  parts: ServiceParts,
  onService: (service: Service) => void,
): LiveServices {
  const services = new Map<string, Service>();
  let agentKeys: ReadonlyMap<string, AgentKey> = new Map();
  let resources: ReadonlyMap<string, ProtectedResource> = new Map();
  /** Kept, since each request asks for it. */
  let takesTokens = false;
  /** The counters of verifiers that are closed. */
  let ended: TokenCounters = { cacheHits: 0, cacheMisses: 0, fetchFailures: 0 };
  // Refuses callers of an unknown service exactly like an existing service does.
  const nobody = createService('', undefined, () => false, parts);

  function set(next: readonly ServiceConfig[]): void {
    agentKeys = agentKeysOf(next);
    for (const service of services.values()) {
      if (!next.some(({ id }) => id === service.id)) {
        change(service, undefined);
        service.stopWaiting();
        services.delete(service.id);
      }
    }
    for (const config of next) {
      const known = services.get(config.id);
      if (known === undefined) {
        const isAgentKey = (keyId: string): boolean => agentKeys.get(keyId)?.service === config.id;
        const service = createService(config.id, config.tokens, isAgentKey, parts);
        services.set(config.id, service);
        onService(service);
      } else {
        change(known, config.tokens);
        known.catalog.forgetUnknown();
      }
    }
    takesTokens = next.some(({ tokens }) => tokens !== undefined);
    resources = new Map(
      [...services.values()].flatMap(({ protectedResource: resource }) =>
        resource === undefined ? [] : Array.from(resource.routes.keys(), (path) => [path, resource] as const),
      ),
    );
  }

  function change(service: Service, tokens: ServiceConfig['tokens']): void {
    const before = service.tokens;
    service.setTokens(tokens);
    if (before === undefined || before === service.tokens) return;
    ended = sumOf(ended, before.counters);
  }

  set(configs);
  const ofDefault = services.get(DEFAULT_SERVICE);
  if (ofDefault === undefined) throw new Error('the default service is missing');
  return {
    ofDefault,
    nobody: nobody.handlers,
    find: (id) => services.get(id),
    get all() {
      return services.values();
    },
    agentKey: (keyId) => agentKeys.get(keyId),
    metadata: {
      find: (path) => resources.get(path)?.routes.get(path),
      serve(exchange) {
        const [path = ''] = (exchange.request.url ?? '').split('?');
        // The path of the public URL may precede it.
        resources.get(path.slice(path.lastIndexOf(WELL_KNOWN)))?.serve(exchange);
      },
    },
    get agentConnected() {
      for (const { registry } of services.values()) if (registry.connected) return true;
      return false;
    },
    databasesReady(which) {
      const ready = Array.from(services.values(), ({ registry }) => registry.databasesReady(which));
      return which === 'any' ? ready.some(Boolean) : ready.every(Boolean);
    },
    get takesTokens() {
      return takesTokens;
    },
    get tokenCounters() {
      return [...services.values()].reduce((sum, { tokens }) => sumOf(sum, tokens?.counters), ended);
    },
    set,
    close() {
      for (const { tokens } of services.values()) tokens?.close();
    },
  };
}

function sumOf(counters: TokenCounters, others: TokenCounters | undefined): TokenCounters {
  if (others === undefined) return counters;
  return {
    cacheHits: counters.cacheHits + others.cacheHits,
    cacheMisses: counters.cacheMisses + others.cacheMisses,
    fetchFailures: counters.fetchFailures + others.fetchFailures,
  };
}

/** By their ids. */
export function agentKeysOf(services: readonly ServiceConfig[]): ReadonlyMap<string, AgentKey> {
  return new Map(
    services.flatMap(({ id, agentPublicKeys }) =>
      agentPublicKeys.map((publicKey) => [agentKeyId(publicKey), { publicKey, service: id }] as const),
    ),
  );
}
