import type { RunningProcess, Service } from '@svc/testkit';

export async function metricsPortOf(gateway: RunningProcess): Promise<number> {
  const line = await gateway.waitForLine((text) => text.includes('"event":"metrics_listening"'));
  return Number(JSON.parse(line).port);
}

export async function agentMetricsPort({ agents }: Service): Promise<number> {
  const line = await agents[0]?.waitForLine((text) => text.includes(': metrics on '));
  const [, port] = /^svc-agent: metrics on 127\.0\.0\.1 port (\d+), path \/metrics$/.exec(line ?? '') ?? [];
  return Number(port);
}
