import type { Results } from './compare-measure.ts';
import { spread, spreadOfRatios, type Spread } from './report/statistics.ts';

type Figure = 'callsPerSecond' | 'cpuMicroseconds' | 'p50Ms' | 'p99Ms';

interface Goal {
  readonly title: string;
  readonly figure: Figure;
  readonly of: string;
  /** The case that it is compared with. */
  readonly against: string;
  readonly bound: { readonly least: number } | { readonly most: number };
}

export interface JudgedGoal {
  readonly title: string;
  readonly unit: 'x' | 'MB';
  readonly bound: Goal['bound'];
  /** Ratios are taken within each round. */
  readonly measured: Spread;
  /** By the median. */
  readonly isMet: boolean;
}

const REST = 'REST';
const REVISIONS = ['MCP 2025-11-25', 'MCP 2026-07-28'] as const;

function pair(title: string, of: string, against: string, least: number, most: number): readonly Goal[] {
  return [
    { title: `${title}: throughput`, figure: 'callsPerSecond', of, against, bound: { least } },
    { title: `${title}: CPU per call`, figure: 'cpuMicroseconds', of, against, bound: { most } },
  ];
}

const GOALS: readonly Goal[] = [
  ...[32, 64, 128].flatMap((connections) => [
    ...pair(
      `one row, REST at ${connections}, to MCP Toolbox`,
      `point-${connections} svc ${REST}`,
      `point-${connections} toolbox ${REST}`,
      1.5,
      0.5,
    ),
    ...pair(
      `one row, REST at ${connections}, to Fastify + pg`,
      `point-${connections} svc ${REST}`,
      `point-${connections} fastify ${REST}`,
      1.5,
      0.5,
    ),
  ]),
  ...REVISIONS.flatMap((revision) =>
    pair(
      `one row, ${revision}, to MCP Toolbox`,
      `point-mcp svc ${revision}`,
      `point-mcp toolbox ${revision}`,
      2,
      0.4,
    ),
  ),
  ...pair('100 rows, REST, to MCP Toolbox', `list svc ${REST}`, `list toolbox ${REST}`, 4, 0.2),
  {
    title: 'one row, REST at 1, to MCP Toolbox: p50',
    figure: 'p50Ms',
    of: `point-1 svc ${REST}`,
    against: `point-1 toolbox ${REST}`,
    bound: { most: 1 },
  },
  {
    title: 'one row, REST at 64, to MCP Toolbox: p99',
    figure: 'p99Ms',
    of: `point-64 svc ${REST}`,
    against: `point-64 toolbox ${REST}`,
    bound: { most: 1 },
  },
  ...REVISIONS.flatMap((revision): readonly Goal[] => [
    {
      title: `one row, ${revision}, to our REST: CPU per call`,
      figure: 'cpuMicroseconds',
      of: `point-mcp svc ${revision}`,
      against: `point-32 svc ${REST}`,
      bound: { most: 1.2 },
    },
    {
      title: `100 rows, ${revision}, to our REST: CPU per call`,
      figure: 'cpuMicroseconds',
      of: `list-mcp svc ${revision}`,
      against: `list svc ${REST}`,
      bound: { most: 1.2 },
    },
  ]),
];

/** Memory is the most of all workloads: what a round left behind is there in the next. */
const MEMORY_MEGABYTES = 150;

/** All that there are, measured or not. */
export const GOAL_COUNT: number = GOALS.length + 1;

/** Those of which the results know enough. */
export function judgeGoals(results: Results): readonly JudgedGoal[] {
  const byId = new Map([...results].map(([{ id }, rounds]) => [id, rounds]));
  const figures = (id: string, figure: Figure): readonly number[] =>
    (byId.get(id) ?? []).map((round) => round[figure]);
  return [
    ...GOALS.flatMap(({ title, figure, of, against, bound }) =>
      judged(title, 'x', bound, spreadOfRatios(figures(of, figure), figures(against, figure))),
    ),
    ...judged('gateway and agent: memory after load', 'MB', { most: MEMORY_MEGABYTES }, memoryOf(results)),
  ];
}

/** Of each round, the most that any workload left. */
function memoryOf(results: Results): Spread | undefined {
  const ours = [...results].filter(([{ name }]) => name === 'svc').map(([, rounds]) => rounds);
  const rounds = ours[0] ?? [];
  return spread(
    rounds.map((_, round) =>
      Math.max(...ours.flatMap((each) => each.slice(round, round + 1)).map((each) => each.memoryMegabytes)),
    ),
  );
}

function judged(
  title: string,
  unit: JudgedGoal['unit'],
  bound: Goal['bound'],
  measured: Spread | undefined,
): readonly JudgedGoal[] {
  if (measured === undefined) return [];
  const isMet = 'least' in bound ? measured.median >= bound.least : measured.median <= bound.most;
  return [{ title, unit, bound, measured, isMet }];
}
