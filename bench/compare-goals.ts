import { figureOf, findCase, type Figure } from './compare-figures.ts';
import type { MeasuredCase } from './compare-measure.ts';
import type { ContestantName } from './contestants/contestant.ts';
import { REVISIONS } from './contestants/faces.ts';
import { spread, spreadOfRatios, type Spread } from './report/statistics.ts';

type Bound = { readonly least: number } | { readonly most: number };

interface Wanted {
  readonly workload: string;
  readonly face: string;
  /** What is called, e.g. `one row, REST at 32`. */
  readonly title: string;
  readonly bounds: readonly { readonly figure: Figure; readonly bound: Bound }[];
}

export interface JudgedGoal {
  readonly against: ContestantName | undefined;
  /** An aim is shown like a goal, and nothing fails when it is missed. */
  readonly kind: 'goal' | 'aim';
  readonly title: string;
  readonly figure: Figure | 'memoryMegabytes';
  readonly bound: Bound;
  /** Ratios are taken within each round. Undefined when it was not measured. */
  readonly measured: Spread | undefined;
  readonly isMet: boolean | undefined;
}

function least(figure: Figure, least: number): Wanted['bounds'][number] {
  return { figure, bound: { least } };
}

function most(figure: Figure, most: number): Wanted['bounds'][number] {
  return { figure, bound: { most } };
}

function oneRow(connections: number, bounds: Wanted['bounds']): Wanted {
  const title = `one row, REST at ${connections}`;
  return { workload: `point-${connections}`, face: 'REST', title, bounds };
}

function oneRowByMcp(bounds: Wanted['bounds']): readonly Wanted[] {
  return REVISIONS.map((revision) => {
    const face = `MCP ${revision}`;
    return { workload: 'point-mcp', face, title: `one row, ${face} at 32`, bounds };
  });
}

function hundredRows(bounds: Wanted['bounds']): Wanted {
  return { workload: 'list', face: 'REST', title: '100 rows, REST at 32', bounds };
}

/** What one would run instead comes first; the others have half the hops, or check nothing. */
const GOALS: readonly {
  readonly against: ContestantName;
  readonly kind: JudgedGoal['kind'];
  readonly wanted: readonly Wanted[];
}[] = [
  {
    against: 'same-topology',
    kind: 'goal',
    wanted: [
      oneRow(32, [least('throughput', 2), most('cpu', 0.4)]),
      ...oneRowByMcp([least('throughput', 2)]),
      hundredRows([least('throughput', 2.5)]),
      oneRow(1, [most('p50', 0.7)]),
    ],
  },
  {
    against: 'toolbox',
    kind: 'aim',
    wanted: [
      oneRow(32, [least('throughput', 1.3), most('cpu', 0.65), most('withDatabase', 0.75)]),
      ...oneRowByMcp([least('throughput', 1.5), most('cpu', 0.5)]),
      hundredRows([least('throughput', 2), most('cpu', 0.25)]),
      oneRow(1, [most('p50', 1.25)]),
      oneRow(64, [most('p99', 1)]),
    ],
  },
  {
    against: 'fastify',
    kind: 'aim',
    wanted: [oneRow(32, [least('throughput', 1.1), most('withDatabase', 0.95)])],
  },
];

const MEMORY_MEGABYTES = 180;

export function judgeGoals(cases: readonly MeasuredCase[]): readonly JudgedGoal[] {
  return [
    ...GOALS.flatMap(({ against, kind, wanted }) =>
      wanted.flatMap(({ workload, face, title, bounds }) =>
        bounds.map(({ figure, bound }) => {
          const of = (contestant: ContestantName): readonly number[] =>
            figureOf(figure, findCase(cases, workload, contestant, face));
          return judged({ against, kind, title, figure, bound }, spreadOfRatios(of('svc'), of(against)));
        }),
      ),
    ),
    judged(
      {
        against: undefined,
        kind: 'goal',
        title: 'gateway and agent, after load',
        figure: 'memoryMegabytes',
        bound: { most: MEMORY_MEGABYTES },
      },
      memoryOf(cases),
    ),
  ];
}

/** Of each round, the most that any workload left: what one leaves behind is there in the next. */
function memoryOf(cases: readonly MeasuredCase[]): Spread | undefined {
  const ours = cases.filter(({ name }) => name === 'svc');
  const rounds = ours[0]?.rounds ?? [];
  return spread(
    rounds.map((_, round) => Math.max(...ours.flatMap((each) => each.rounds[round]?.memoryMegabytes ?? []))),
  );
}

function judged(goal: Omit<JudgedGoal, 'measured' | 'isMet'>, measured: Spread | undefined): JudgedGoal {
  const { bound } = goal;
  const isMet =
    measured === undefined
      ? undefined
      : 'least' in bound
        ? measured.median >= bound.least
        : measured.median <= bound.most;
  return { ...goal, measured, isMet };
}
