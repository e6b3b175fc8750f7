import {
  FIGURES,
  findCase,
  LABELS,
  LIST,
  POINT,
  POINT_ALONE,
  POINT_MCP,
  ratioOf,
  type Figure,
  type Subject,
} from './compare-figures.ts';
import type { MeasuredCase } from './compare-measure.ts';
import type { Counted } from './compare-counted.ts';
import type { ContestantName } from './contestants/contestant.ts';
import { exactly, judged, type Goal, type Judged } from './report/goals.ts';

export interface JudgedGoal extends Goal, Judged {
  readonly to?: ContestantName;
}

interface RatioGoal {
  readonly subject: Subject;
  readonly to: ContestantName;
  readonly ours?: ContestantName;
  readonly bounds: Readonly<Partial<Record<Figure, number>>>;
}

const FIGURE_ORDER = ['throughput', 'cpu', 'withDatabase', 'p50'] as const;

/** Throughput is to be that many times the other's at least, everything else at most. */
const RATIOS: readonly RatioGoal[] = [
  { subject: POINT, to: 'svc-before', bounds: { throughput: 1.15, cpu: 0.9, withDatabase: 0.75 } },
  { subject: POINT, to: 'svc-before', ours: 'svc-own', bounds: { withDatabase: 0.88 } },
  { subject: POINT, to: 'same-topology', bounds: { throughput: 1.8, cpu: 0.36, withDatabase: 0.42 } },
  { subject: POINT, to: 'toolbox', bounds: { throughput: 1.1, cpu: 0.85, withDatabase: 0.8 } },
  ...POINT_MCP.map((subject): RatioGoal => ({
    subject,
    to: 'toolbox',
    bounds: { throughput: 1.5, cpu: 0.65, withDatabase: 0.66 },
  })),
  { subject: LIST, to: 'toolbox', bounds: { throughput: 1.4, cpu: 0.35, withDatabase: 0.7 } },
  ...[POINT, ...POINT_MCP].map((subject): RatioGoal => ({
    subject,
    to: 'svc',
    ours: 'svc-serve',
    bounds: { cpu: 0.82 },
  })),
  {
    subject: POINT,
    to: 'toolbox',
    ours: 'svc-serve',
    bounds: { throughput: 1.2, cpu: 0.7, withDatabase: 0.72 },
  },
  ...POINT_MCP.map((subject): RatioGoal => ({
    subject,
    to: 'toolbox',
    ours: 'svc-serve',
    bounds: { throughput: 1.6, cpu: 0.6, withDatabase: 0.6 },
  })),
  { subject: POINT, to: 'fastify', bounds: { throughput: 1, withDatabase: 0.9 } },
  { subject: POINT_ALONE, to: 'svc-before', bounds: { p50: 1.1 } },
  { subject: POINT_ALONE, to: 'toolbox', bounds: { p50: 2 } },
  { subject: POINT_ALONE, to: 'toolbox', ours: 'svc-serve', bounds: { p50: 1.6 } },
];

export function judgeGoals(cases: readonly MeasuredCase[], counted: Counted): readonly JudgedGoal[] {
  const { memory, rollbacks, agentWrites } = counted;
  return [
    ...RATIOS.flatMap(({ subject, to, ours = 'svc', bounds }) =>
      FIGURE_ORDER.flatMap((figure) => {
        const wanted = bounds[figure];
        if (wanted === undefined) return [];
        const measured = ratioOf(figure, findCase(cases, subject, ours), findCase(cases, subject, to));
        const title = `${subject.title}${ours === 'svc' ? '' : `, ${LABELS[ours]}`}: ${FIGURES[figure].title}`;
        const bound = figure === 'throughput' ? { least: wanted } : { most: wanted };
        return [judged({ title, to, unit: 'x' as const, bound }, measured)];
      }),
    ),
    judged({ title: `${POINT.title}: rollbacks`, unit: 'a call', bound: { most: 0.4 } }, exactly(rollbacks)),
    judged(
      { title: `${POINT.title}: writes of the agent`, unit: 'a call', bound: { most: 0.25 } },
      exactly(agentWrites),
    ),
    judged(
      { title: 'private memory of the gateway', unit: 'MB', bound: { most: 85 } },
      exactly(memory.svc?.['gateway']),
    ),
    judged(
      { title: 'private memory of the agent', unit: 'MB', bound: { most: 55 } },
      exactly(memory.svc?.['agent']),
    ),
  ];
}
