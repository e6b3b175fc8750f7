import { createCell, type Way } from './cell.ts';
import type { Scenario } from './scenarios.ts';

/** What a scenario made of one cell. */
export interface Outcome {
  /** For each agent, from the begin of the scenario on. */
  readonly dials: number;
  readonly duplicates: number;
  /** Milliseconds from the begin until this share of the links is there and stays; undefined when that never comes. */
  readonly linkedMs: Readonly<Record<50 | 90 | 100, number | undefined>>;
  /** Connections that came to all replicas together in one second, the most. */
  readonly peakDials: number;
  /** Of connections, by 429. */
  readonly refused: number;
  readonly linksPerReplica: readonly [least: number, most: number];
  /** Seconds' worth of calls that found no agent at the replica where they came first, and after one try elsewhere. */
  readonly unanswered: { readonly first: number; readonly second: number };
}

const SETTLED_BY_MS = 300_000;
const SAMPLE_MS = 250;

export function simulate(scenario: Scenario, way: Way, agents: number, seed: number): Outcome {
  const { replicas, agentsPerSource } = scenario;
  const cell = createCell({ seed, agents, replicas, way, agentsPerSource });
  const { clock } = cell;
  if (scenario.isSettled) {
    cell.startAgents(10_000);
    clock.runUntil(SETTLED_BY_MS);
  }
  const sum = (of: (agent: (typeof cell.agents)[number]) => number): number =>
    cell.agents.reduce((total, agent) => total + of(agent), 0);
  const seen = { dials: new Map<object, number>(), refusals: new Map<object, number>() };
  /** Of replicas that come and go: what has been added since the last look. */
  const added = (of: 'dials' | 'refusals'): number => {
    let total = 0;
    for (const gateway of cell.gateways) {
      total += gateway.seen[of] - (seen[of].get(gateway) ?? 0);
      seen[of].set(gateway, gateway.seen[of]);
    }
    return total;
  };
  added('dials');
  added('refusals');
  const before = { dials: sum((agent) => agent.dials), duplicates: sum((agent) => agent.duplicates) };
  const from = clock.now;
  const below = { 50: from, 90: from, 100: from };
  const unanswered = { first: 0, second: 0 };
  let peakDials = 0;
  let refused = 0;
  const inSecond: number[] = [];
  scenario.begin(cell);
  while (clock.now < from + scenario.lastsMs) {
    clock.runUntil(clock.now + SAMPLE_MS);
    for (const share of [50, 90, 100] as const) {
      if (cell.linked < share / 100) below[share] = clock.now;
    }
    const { first, second } = cell.unanswered();
    unanswered.first += (first * SAMPLE_MS) / 1000;
    unanswered.second += (second * SAMPLE_MS) / 1000;
    inSecond.push(added('dials'));
    if (inSecond.length > 1000 / SAMPLE_MS) inSecond.shift();
    peakDials = Math.max(
      peakDials,
      inSecond.reduce((total, each) => total + each, 0),
    );
    refused += added('refusals');
  }
  const reached = (share: 50 | 90 | 100): number | undefined =>
    below[share] >= clock.now ? undefined : below[share] - from;
  const links = cell.gateways.map((gateway) => gateway.links);
  return {
    dials: (sum((agent) => agent.dials) - before.dials) / agents,
    duplicates: (sum((agent) => agent.duplicates) - before.duplicates) / agents,
    linkedMs: { 50: reached(50), 90: reached(90), 100: reached(100) },
    peakDials,
    refused,
    linksPerReplica: [Math.min(...links), Math.max(...links)],
    unanswered,
  };
}
