import type { RunningProcess, Service } from '@svc/testkit';
import { treeMicroseconds } from '../load/process-tree.ts';
import { load, type Load, type LoadResult } from '../load/wrk.ts';
import { rotated } from '../report/statistics.ts';
import type { Scale } from './row.ts';

export interface Measured {
  readonly calls: number;
  readonly callsPerSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** Microseconds per call, user and system, of gateway and agents together. */
  readonly cpu: number;
  readonly gatewayCpu: number;
  readonly agentCpu: number;
  readonly databaseCpu: number;
}

/** The processes whose work is counted. */
interface Served {
  readonly gateways: readonly RunningProcess[];
  readonly agents: readonly RunningProcess[];
}

export interface Contestant {
  readonly name: string;
  readonly service: Service | Served;
  readonly loads: readonly Load[];
  /** Of a load before the first round; default as long as a round, 0 for what is warm already. */
  readonly warmUpSeconds?: number;
}

/** Loads at once, with what they cost; the percentiles are those of the slowest. */
export async function measureLoad(
  scale: Scale,
  service: Contestant['service'],
  loads: Contestant['loads'],
): Promise<Measured> {
  const before = await cpuOf(scale, service);
  const results = await loadAll(loads, scale.seconds);
  const calls = results.reduce((sum, each) => sum + each.calls, 0);
  const most = (of: 'seconds' | 'p50Ms' | 'p99Ms'): number => Math.max(...results.map((each) => each[of]));
  const after = await cpuOf(scale, service);
  const gatewayCpu = (after.gateway - before.gateway) / calls;
  const agentCpu = (after.agents - before.agents) / calls;
  return {
    calls,
    callsPerSecond: calls / most('seconds'),
    p50Ms: most('p50Ms'),
    p99Ms: most('p99Ms'),
    cpu: gatewayCpu + agentCpu,
    gatewayCpu,
    agentCpu,
    databaseCpu: (after.database - before.database) / calls,
  };
}

/** Gives one of the figures of each round. */
export type Column = (contestant: string, of: keyof Measured) => readonly number[];

/** Each in its turn, all warmed up before. Each round is begun by another. */
export async function measureInTurn(scale: Scale, contestants: readonly Contestant[]): Promise<Column> {
  const results = new Map<string, Measured[]>();
  for (const { loads, warmUpSeconds = scale.seconds } of contestants) {
    if (warmUpSeconds > 0) await loadAll(loads, warmUpSeconds);
  }
  for (let round = 1; round <= scale.rounds; round++) {
    scale.say(`round ${round} of ${scale.rounds}`);
    for (const { name, service, loads } of rotated(contestants, round - 1)) {
      const measured = await measureLoad(scale, service, loads);
      results.set(name, [...(results.get(name) ?? []), measured]);
    }
  }
  return (contestant, of) => (results.get(contestant) ?? []).map((each) => each[of]);
}

async function cpuOf(
  { postgres }: Scale,
  service: Contestant['service'],
): Promise<Record<'gateway' | 'agents' | 'database', number>> {
  const gateways = 'gateways' in service ? service.gateways : [service.gateway];
  const all = async (processes: Served['agents']): Promise<number> =>
    (await Promise.all(processes.map(treeMicroseconds))).reduce((sum, each) => sum + each, 0);
  const [gateway, agents, database] = await Promise.all([
    all(gateways),
    all(service.agents),
    treeMicroseconds(postgres),
  ]);
  return { gateway, agents, database };
}

function loadAll(loads: Contestant['loads'], seconds: number): Promise<readonly LoadResult[]> {
  return Promise.all(loads.map((one) => load(one, seconds)));
}
