import { createMetricsRegister, type Metric, type MetricsRegister } from '@svc/edge';
import { DURATION_BOUNDS } from '../../packages/edge/src/metrics/register.ts';
import { createAgentMetrics } from '../../packages/agent/src/telemetry/metrics.ts';
import { createGatewayMetrics } from '../../packages/gateway/src/telemetry/metrics.ts';
import { code, table } from './markdown.ts';

const none = (): number => 0;

/** With the label of several services. Nothing is read of them but what they are. */
export const GATEWAY_METRICS_OF_SERVICES: readonly Metric[] = await described((register) =>
  createGatewayMetrics(register, {
    requestsInFlight: none,
    hasServices: true,
    reloads: true,
    agents: { connections: none, callsInFlight: none },
    fleet: { replicas: none, linksMissing: none, singleLinks: none },
    resultBytesReserved: none,
    authentication: () => ({ cacheHits: 0, cacheMisses: 0, slotsInUse: 0, slots: 0 }),
    tokens: () => ({ cacheHits: 0, cacheMisses: 0, fetchFailures: 0 }),
    valkey: () => ({ up: false, leases: { granted: 0, refused: 0, unanswered: 0 } }),
    logRecordsLost: none,
    tracesDropped: none,
    workerRestarts: none,
    siblingCalls: none,
    isCapability: () => false,
  }),
);

export const GATEWAY_METRICS: readonly Metric[] = GATEWAY_METRICS_OF_SERVICES.map((metric) => ({
  ...metric,
  labels: metric.labels.filter((label) => label !== 'service'),
}));

export const AGENT_METRICS: readonly Metric[] = await described((register) =>
  createAgentMetrics(register, {
    links: () => ({ held: 0, wanted: 0, dials: [] }),
    callsRunning: none,
    callsQueued: none,
    databasesNamed: false,
    databases: () => [],
    maxConnectionsOf: none,
    logRecordsLost: none,
    tracesDropped: none,
    workerRestarts: none,
  }),
);

async function described(add: (register: MetricsRegister) => unknown): Promise<readonly Metric[]> {
  const register = await createMetricsRegister();
  add(register);
  return register.metrics.toSorted((a, b) => (a.name < b.name ? -1 : 1));
}

export function metricTable(metrics: readonly Metric[]): string {
  const rows = metrics.map(({ name, type, labels, help }) => [
    code(name),
    type,
    labels.map(code).join(', '),
    help,
  ]);
  return table(['Metric', 'Type', 'Labels', 'Meaning'], rows);
}

export function bucketList(): string {
  return DURATION_BOUNDS.map((bound) => code(String(bound))).join(', ');
}
