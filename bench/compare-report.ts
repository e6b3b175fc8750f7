import type { Case } from './compare-cases.ts';
import { GOAL_COUNT, type JudgedGoal } from './compare-goals.ts';
import type { ContestantName } from './contestants/contestant.ts';
import { medianOf, type Measured, type Results } from './compare-measure.ts';
import { barChart, type Bar, type BarGroup } from './report/plot.ts';
import { fixed, table } from './report/table.ts';

const COLUMNS = [
  { title: 'workload' },
  { title: 'contestant' },
  { title: 'calls/s', right: true },
  { title: 'p50 ms', right: true },
  { title: 'p99 ms', right: true },
  { title: 'CPU us', right: true },
  { title: 'of each', right: true },
  { title: 'DB us', right: true },
  { title: 'load us', right: true },
  { title: 'MB', right: true },
];

const LEGEND = `Medians of the rounds. Per call, user and system time: CPU us of the contestant, of each of its processes;
DB us of the database; load us of wrk and of this program. MB: resident memory of the contestant after the load.
`;

/** The medians of the rounds, a line for each case; at most 120 columns. */
export function resultsTable(results: Results): string {
  let last: string | undefined;
  const rows = [...results].map(([each, rounds]) => {
    const { name } = each.workload;
    const workload = name === last ? '' : name;
    last = name;
    const cell = (figure: (round: Measured) => number, digits: number): string =>
      fixed(medianOf(rounds, figure), digits);
    const parts = Object.keys(each.processes);
    return [
      workload,
      label(each),
      cell((round) => round.callsPerSecond, 0),
      cell((round) => round.p50Ms, 2),
      cell((round) => round.p99Ms, 2),
      cell((round) => round.cpuMicroseconds, 0),
      parts.length < 2
        ? ''
        : parts
            .map((part) => cell((round) => round.processes[part]?.cpuMicroseconds ?? Number.NaN, 0))
            .join('+'),
      cell((round) => round.databaseMicroseconds, 0),
      cell((round) => round.generatorMicroseconds, 0),
      cell((round) => round.memoryMegabytes, 0),
    ];
  });
  return table(COLUMNS, rows) + LEGEND + [...results].map(failures).join('');
}

function failures([each, rounds]: readonly [Case, readonly Measured[]]): string {
  const sum = (figure: (round: Measured) => number): number =>
    rounds.reduce((total, round) => total + figure(round), 0);
  const failed = sum((round) => round.failed);
  if (failed === 0) return '';
  const example = rounds.find(({ failure }) => failure !== '')?.failure ?? '';
  const calls = failed + sum((round) => round.calls);
  return `${each.workload.name}, ${label(each)}: ${failed} of ${calls} calls failed: ${example}\n`;
}

export function goalsTable(goals: readonly JudgedGoal[], isColoured: boolean): string {
  const right = true;
  const columns = [
    { title: 'goal' },
    { title: 'wanted' },
    { title: 'median', right },
    { title: 'least..most', right },
    { title: '' },
  ];
  const rows = goals.map(({ title, unit, bound, measured, isMet }) => {
    const digits = unit === 'MB' ? 0 : 2;
    const { median, least, most } = measured;
    const [sign, value] = 'least' in bound ? ['>=', bound.least] : ['<=', bound.most];
    return [
      title,
      `${sign} ${value} ${unit}`,
      fixed(median, digits),
      `${fixed(least, digits)}..${fixed(most, digits)}`,
      verdict(isMet, isColoured),
    ];
  });
  const unmeasured = GOAL_COUNT - goals.length;
  return table(columns, rows) + (unmeasured === 0 ? '' : `${unmeasured} of the goals were not measured.\n`);
}

function verdict(isMet: boolean, isColoured: boolean): string {
  const word = isMet ? 'met' : 'MISSED';
  return isColoured ? `\u001B[${isMet ? 32 : 31}m${word}\u001B[0m` : word;
}

/** They do less than a service and would make all other bars short. */
const FLOORS: ReadonlySet<ContestantName> = new Set(['node-http', 'pgbench']);

/** File names and SVG documents; bars are medians of the rounds. */
export function charts(results: Results): Readonly<Record<string, string>> {
  return {
    'throughput.svg': barChart({
      title: 'Throughput: more is better',
      axis: 'calls per second',
      groups: groups(results, (round) => round.callsPerSecond),
    }),
    'cpu.svg': barChart({
      title: 'CPU per call, without the database: less is better',
      axis: 'microseconds of user and system time per call',
      groups: groups(results, (round) => round.cpuMicroseconds),
    }),
  };
}

function groups(results: Results, figure: (round: Measured) => number): readonly BarGroup[] {
  const cases = [...results.keys()].filter(({ name }) => !FLOORS.has(name));
  return [...new Set(cases.map(({ workload }) => workload))].map((workload) => ({
    title: workload.title,
    bars: cases
      .filter((each) => each.workload === workload)
      .map((each): Bar => ({
        label: label(each),
        value: medianOf(results.get(each) ?? [], figure),
        ours: each.name === 'svc',
      }))
      .filter(({ value }) => !Number.isNaN(value)),
  }));
}

/** The face is named where the workload leaves a choice. */
function label({ contestant, face, workload }: Case): string {
  return workload.kind === 'mcp' ? `${contestant}, ${face}` : contestant;
}
