import type { Measured, MeasuredCase } from './compare-measure.ts';
import type { ContestantName } from './contestants/contestant.ts';
import { median, spreadOfRatios } from './report/statistics.ts';

export type Figure = 'throughput' | 'cpu' | 'withDatabase' | 'p50' | 'p99';

export const FIGURES: Readonly<
  Record<Figure, { readonly title: string; readonly of: (round: Measured) => number }>
> = {
  throughput: { title: 'throughput', of: ({ callsPerSecond }) => callsPerSecond },
  cpu: { title: 'CPU', of: ({ cpuMicroseconds }) => cpuMicroseconds },
  withDatabase: {
    title: 'CPU with the database',
    of: ({ cpuMicroseconds, databaseMicroseconds }) => cpuMicroseconds + databaseMicroseconds,
  },
  p50: { title: 'p50', of: ({ p50Ms }) => p50Ms },
  p99: { title: 'p99', of: ({ p99Ms }) => p99Ms },
};

export function findCase(
  cases: readonly MeasuredCase[],
  workload: string,
  name: ContestantName,
  face: string,
): MeasuredCase | undefined {
  return cases.find((each) => each.workload === workload && each.name === name && each.face === face);
}

/** One of each round; none of what was not measured. */
export function figureOf(figure: Figure, measured: MeasuredCase | undefined): readonly number[] {
  return measured?.rounds.map(FIGURES[figure].of) ?? [];
}

export function medianOf({ rounds }: MeasuredCase, figure: (round: Measured) => number): number {
  return median(rounds.map(figure));
}

/** How many times the other's figure ours is: the median of the rounds' ratios; NaN when one was not measured. */
export function ratioOf(
  figure: Figure,
  ours: MeasuredCase | undefined,
  other: MeasuredCase | undefined,
): number {
  return spreadOfRatios(figureOf(figure, ours), figureOf(figure, other))?.median ?? Number.NaN;
}

export const LABELS: Readonly<Record<ContestantName, string>> = {
  svc: 'svc',
  'svc-other-node': 'svc',
  'same-topology': 'same topology',
  toolbox: 'MCP Toolbox',
  fastify: 'Fastify + pg',
  'node-http': 'node:http',
  pgbench: 'pgbench',
};

/** Names the API if the workload leaves a choice. */
export function labelOfCase({ name, contestant, face }: MeasuredCase): string {
  const label = name === 'svc-other-node' ? contestant : LABELS[name];
  return face.startsWith('MCP ') ? `${label}, ${face}` : label;
}
