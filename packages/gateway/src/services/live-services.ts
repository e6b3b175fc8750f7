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
  /** There is always one. */
  readonly ofDefault: Service;
  find(id: string): Service | undefined;
  readonly all: Iterable<Service>;
  agentKey(keyId: string): AgentKey | undefined;
  readonly metadata: ServedPaths;
  /** Whether any has an agent. */
  readonly agentConnected: boolean;
  /** As of a registry; where all are wanted, those of every service. */
  databasesReady(which: WhichDatabases): boolean;
  /** Whether any service takes tokens. */
  readonly takesTokens: boolean;
  /** Of all services, also of those that there were. */
  readonly tokenCounters: TokenCounters;
  /** From now on there are these; the default one is among them. */
  set(configs: readonly ServiceConfig[]): void;
  close(): void;
}

/** `onService` is called for each service when it comes. */
export function createLiveServices(
  configs: readonly ServiceConfig[],
  parts: ServiceParts,
  onService: (service: Service) => void,
): LiveServices {
  const services = new Map<string, Service>();
  let agentKeys: ReadonlyMap<string, AgentKey> = new Map();
  let resources: ReadonlyMap<string, ProtectedResource> = new Map();
  /** Asked for with each request. */
  let takesTokens = false;
  /** What verifiers had counted that are there no more. */
  const ended = { cacheHits: 0, cacheMisses: 0, fetchFailures: 0 };
  // Refuses whoever asks for a service that there is not, just as one that there is.
  const nobody = createService('', undefined, () => false, parts);

  function set(next: readonly ServiceConfig[]): void {
    agentKeys = new Map(
      next.flatMap(({ id, agentPublicKeys }) =>
        agentPublicKeys.map((publicKey) => [agentKeyId(publicKey), { publicKey, service: id }] as const),
      ),
    );
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
      [...services.values()].flatMap(({ protectedResource }) =>
        [...(protectedResource?.routes.keys() ?? [])].flatMap((path) =>
          protectedResource === undefined ? [] : [[path, protectedResource] as const],
        ),
      ),
    );
  }

  function change(service: Service, tokens: ServiceConfig['tokens']): void {
    const before = service.tokens;
    service.setTokens(tokens);
    if (before === undefined || before === service.tokens) return;
    ended.cacheHits += before.counters.cacheHits;
    ended.cacheMisses += before.counters.cacheMisses;
    ended.fetchFailures += before.counters.fetchFailures;
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
        // The path of the public URL may stand before.
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
      const sum = { ...ended };
      for (const { tokens } of services.values()) {
        sum.cacheHits += tokens?.counters.cacheHits ?? 0;
        sum.cacheMisses += tokens?.counters.cacheMisses ?? 0;
        sum.fetchFailures += tokens?.counters.fetchFailures ?? 0;
      }
      return sum;
    },
    set,
    close() {
      for (const { tokens } of services.values()) tokens?.close();
    },
  };
}
