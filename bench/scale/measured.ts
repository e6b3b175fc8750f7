import type { Service } from '@svc/testkit';
import { treeMicroseconds } from '../load/process-tree.ts';
import { load, type Load } from '../load/wrk.ts';
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
  /** Of all processes of the database. */
  readonly databaseCpu: number;
}

export interface Contestant {
  readonly name: string;
  readonly service: Service;
  readonly load: Load;
  /** Of a load before the first round; default as long as a round, 0 for what is warm already. */
  readonly warmUpSeconds?: number;
}

/** One load, with what it cost. */
export async function measureLoad(scale: Scale, service: Service, one: Load): Promise<Measured> {
  const before = await cpuOf(scale, service);
  const { calls, seconds, p50Ms, p99Ms } = await load(one, scale.seconds);
  const after = await cpuOf(scale, service);
  const gatewayCpu = (after.gateway - before.gateway) / calls;
  const agentCpu = (after.agents - before.agents) / calls;
  return {
    calls,
    callsPerSecond: calls / seconds,
    p50Ms,
    p99Ms,
    cpu: gatewayCpu + agentCpu,
    gatewayCpu,
    agentCpu,
    databaseCpu: (after.database - before.database) / calls,
  };
}

/** Each in its turn (A B C A B C), all warmed up before; by name, one figure a round. */
export async function measureInTurn(
  scale: Scale,
  contestants: readonly Contestant[],
): Promise<ReadonlyMap<string, readonly Measured[]>> {
  const results = new Map<string, Measured[]>();
  for (const { load: each, warmUpSeconds = scale.seconds } of contestants) {
    if (warmUpSeconds > 0) await load(each, warmUpSeconds);
  }
  for (let round = 1; round <= scale.rounds; round++) {
    scale.say(`round ${round} of ${scale.rounds}`);
    for (const { name, service, load: each } of contestants) {
      const measured = await measureLoad(scale, service, each);
      results.set(name, [...(results.get(name) ?? []), measured]);
    }
  }
  return results;
}

interface Cpu {
  readonly gateway: number;
  readonly agents: number;
  readonly database: number;
}

async function cpuOf({ postgres }: Scale, service: Service): Promise<Cpu> {
  const [database, gateway, ...agents] = await Promise.all([
    treeMicroseconds(postgres),
    treeMicroseconds(service.gateway),
    ...service.agents.map(treeMicroseconds),
  ]);
  return { gateway, agents: agents.reduce((sum, each) => sum + each, 0), database };
}
