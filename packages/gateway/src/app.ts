import { randomUUID } from 'node:crypto';
import type { AddressInfo } from 'node:net';
import { DRAIN_TIMEOUT_MS, RESULT_MAX_BYTES } from '@svc/protocol';
import { createAgentEndpoint } from './agents/accept.ts';
import { createRegistry } from './agents/registry.ts';
import { createResultBudget } from './agents/result-budget.ts';
import { createAgentFace } from './agents/serve.ts';
import { createCallCapability } from './calls/call-capability.ts';
import type { GatewayConfig } from './config/gateway-config.ts';
import { createHealth, createReady } from './http/health.ts';
import { createRateLimiter } from './http/rate-limit.ts';
import { createGatewayServer } from './http/server.ts';
import { createSourceResolver } from './http/source.ts';
import { createAuthenticator } from './keys/authenticator.ts';
import { createIdentify } from './keys/identify.ts';
import type { Verifier } from './keys/verifier.ts';
import type { Observe } from './observe/event.ts';
import { createOpenApiFace } from './openapi/serve.ts';
import { keepSnapshot } from './openapi/snapshot.ts';
import { createRestCall } from './rest/call.ts';

export interface RunningGateway {
  readonly port: number;
  /** Answers what was accepted, for at most 25 s, and closes everything. */
  shutDown(signal: string): Promise<void>;
}

export interface Surroundings {
  readonly observe: Observe;
  readonly verifier: Verifier;
}

/** The one place where the rooms of the gateway meet. Rejects when it cannot listen. */
export async function startGateway(
  config: GatewayConfig,
  { observe, verifier }: Surroundings,
): Promise<RunningGateway> {
  const now = (): number => performance.now();
  const registry = createRegistry(Math.random);
  if (config.emitOpenapiSnapshot) keepSnapshot(registry, config.publicUrl, observe);
  const endpoint = createAgentEndpoint({
    rules: {
      publicKeys: config.agentPublicKeys,
      audiences: config.agentUrls,
      replicaId: randomUUID(),
      maxParamsBytes: config.maxRequestBodyBytes,
    },
    registry,
    budget: createResultBudget(RESULT_MAX_BYTES),
    observe,
  });
  const identify = createIdentify(
    createAuthenticator({
      records: config.keys,
      verify: (plaintext, bcryptHash) => verifier.verify(plaintext, bcryptHash),
      now,
    }),
  );
  let shuttingDown = false;
  const health = { agentConnected: () => registry.connected, shuttingDown: () => shuttingDown };
  const bodyLimits = { maxBytes: config.maxRequestBodyBytes, timeoutMs: config.bodyReadTimeoutMs };
  const http = createGatewayServer({
    faces: {
      call: createRestCall({ identify, callCapability: createCallCapability(registry, now), bodyLimits }),
      openapi: createOpenApiFace({ identify, registry, publicUrl: config.publicUrl }),
      health: createHealth(health),
      ready: createReady(health),
      agent: createAgentFace(endpoint),
    },
    resolveSource: createSourceResolver({
      allowList: config.ipAllowList,
      trustedProxies: config.trustedProxies,
    }),
    rateLimiter: config.rateLimit === undefined ? undefined : createRateLimiter({ ...config.rateLimit, now }),
    tls: config.tls,
    bodyReadTimeoutMs: config.bodyReadTimeoutMs,
    observe,
    now,
  });
  const { address, port } = await listen(http.server, config.listen);
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
      endpoint.close();
      http.server.closeAllConnections();
      await verifier.close();
    },
  };
}

function listen(
  server: ReturnType<typeof createGatewayServer>['server'],
  address: GatewayConfig['listen'],
): Promise<AddressInfo> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(address.port, address.host, () => {
      server.off('error', reject);
      const bound = server.address();
      if (bound === null || typeof bound === 'string') reject(new Error('cannot listen: no TCP address'));
      else resolve(bound);
    });
  });
}
