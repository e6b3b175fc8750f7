import { ratioWithinRounds, validSlots } from '../compare-figures.ts';
import { exactly, judged, type Goal, type Judged } from '../report/goals.ts';
import { estimate, type Estimate } from '../report/statistics.ts';
import { AT_ONCE, CALLS, type MeasuredStdio, type StdioSlot } from './measure.ts';
import { TABLES, type StdioName } from './contestants.ts';
import type { Sizes } from './prepare.ts';

type Figure = Exclude<keyof StdioSlot, 'round' | 'others' | 'isVoid'>;
type Reader = (slot: StdioSlot) => number;

const LIST: Reader = ({ listMs }) => listMs;
const ROWS: Reader = ({ rowsMs }) => rowsMs;
const CPU: Reader = ({ cpuMicroseconds }) => cpuMicroseconds;

interface RatioGoal {
  readonly title: string;
  readonly ours: StdioName;
  readonly to: StdioName;
  readonly figure: Reader;
  readonly most: number;
}

const RATIOS: readonly RatioGoal[] = [
  { title: 'to DBHub: start to list', ours: 'svc', to: 'dbhub', figure: LIST, most: 0.9 },
  { title: 'to DBHub: start to rows', ours: 'svc', to: 'dbhub', figure: ROWS, most: 0.9 },
  { title: `to DBHub: CPU, ${AT_ONCE} at once`, ours: 'svc', to: 'dbhub', figure: CPU, most: 0.7 },
  { title: `to MCP Toolbox: CPU, ${AT_ONCE} at once`, ours: 'svc', to: 'toolbox', figure: CPU, most: 0.7 },
  {
    title: `--url to a file, ${TABLES} tables: start to list`,
    ours: 'svc-url',
    to: 'svc-file',
    figure: LIST,
    most: 1.7,
  },
  {
    title: `--url to a file, ${TABLES} tables: start to rows`,
    ours: 'svc-url',
    to: 'svc-file',
    figure: ROWS,
    most: 1.7,
  },
];

const AMOUNTS: readonly (Goal & { readonly figure: Figure })[] = [
  { title: 'resident memory at rest', unit: 'MB', bound: { most: 90 }, figure: 'restMegabytes' },
  {
    title: `resident memory after ${CALLS.toLocaleString('en-US')} calls`,
    unit: 'MB',
    bound: { most: 120 },
    figure: 'afterMegabytes',
  },
  { title: 'at rest', unit: 'processes', bound: { most: 1 }, figure: 'processes' },
];

export function judgeStdio(
  measured: readonly MeasuredStdio[],
  { executable, tarball }: Sizes,
): readonly (Goal & Judged)[] {
  const slotsOf = (name: StdioName): readonly StdioSlot[] | undefined =>
    measured.find((each) => each.name === name)?.slots;
  return [
    ...RATIOS.map(({ title, ours, to, figure, most }) =>
      judged({ title, unit: 'x' as const, bound: { most } }, ratioOf(figure, slotsOf(ours), slotsOf(to))),
    ),
    ...AMOUNTS.map(({ figure, ...goal }) =>
      judged(goal, estimate(validSlots({ slots: slotsOf('svc') ?? [] }).map((slot) => slot[figure]))),
    ),
    judged({ title: 'size of svc', unit: 'MB' as const, bound: { most: 4.7 } }, exactly(executable)),
    judged({ title: 'size of the npm package', unit: 'MB' as const, bound: { most: 3.5 } }, exactly(tarball)),
  ];
}

function ratioOf(
  figure: Reader,
  ours: readonly StdioSlot[] | undefined,
  other: readonly StdioSlot[] | undefined,
): Estimate | undefined {
  return ours === undefined || other === undefined ? undefined : ratioWithinRounds(figure, ours, other);
}
