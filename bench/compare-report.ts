import type { CompareDocument } from './compare-document.ts';
import { FIGURES, medianOf } from './compare-figures.ts';
import type { JudgedGoal } from './compare-goals.ts';
import { labelOf, labelOfCase } from './compare-labels.ts';
import type { Measured, MeasuredCase } from './compare-measure.ts';
import { fixed, table } from './report/table.ts';

const RESULT_COLUMNS = [
  { title: 'workload' },
  { title: 'contestant' },
  { title: 'calls/s', right: true },
  { title: 'p50 ms', right: true },
  { title: 'p99 ms', right: true },
  { title: 'CPU us', right: true },
  { title: 'of each', right: true },
  { title: 'DB us', right: true },
  { title: 'both us', right: true },
  { title: 'load us', right: true },
  { title: 'MB', right: true },
];

const LEGEND = `Medians of the rounds. Per call, user and system time: CPU us of the contestant, of each of its programs; DB us of
the database; both us of the two; load us of wrk and of this program. MB: resident memory after the load.
`;

const GOAL_COLUMNS = [
  { title: 'to' },
  { title: 'what' },
  { title: 'wanted' },
  { title: 'median', right: true },
  { title: 'least..most', right: true },
  { title: '' },
];

/** For a terminal. */
export function compareReport(document: CompareDocument, isColoured: boolean): string {
  const { machine, run, contestants, cases, goals } = document;
  const { date, cores, cpu, memoryGigabytes, node, postgres } = machine;
  const place = `svc ${run.version}, ${date}, ${cores} cores (${cpu}), ${memoryGigabytes} GB, Node.js ${node}, PostgreSQL ${postgres}\n`;
  const settings = contestants.map(({ title, settings }) => `${title}: ${settings}\n`).join('');
  return `${place}At most ${run.databaseConnections} database connections each.\n${settings}\n${results(cases)}\n${goalsTable(goals, isColoured)}`;
}

/** A line for each case. */
function results(cases: readonly MeasuredCase[]): string {
  const rows = cases.map((each, at) => {
    const cell = (figure: (round: Measured) => number, digits: number): string =>
      fixed(medianOf(each, figure), digits);
    return [
      each.workload === cases[at - 1]?.workload ? '' : each.workload,
      labelOfCase(each),
      cell(FIGURES.throughput.of, 0),
      cell(FIGURES.p50.of, 2),
      cell(FIGURES.p99.of, 2),
      cell(FIGURES.cpu.of, 0),
      cpuOfEach(each, '+'),
      cell((round) => round.databaseMicroseconds, 0),
      cell(FIGURES.withDatabase.of, 0),
      cell((round) => round.generatorMicroseconds, 0),
      cell((round) => round.memoryMegabytes, 0),
    ];
  });
  return table(RESULT_COLUMNS, rows) + LEGEND + cases.map(failures).join('');
}

/** Empty where there is one program or none. */
export function cpuOfEach(each: MeasuredCase, separator: string): string {
  const programs = Object.keys(each.rounds[0]?.processes ?? {});
  if (programs.length < 2) return '';
  return programs
    .map((program) =>
      fixed(
        medianOf(each, ({ processes }) => processes[program]?.cpuMicroseconds ?? Number.NaN),
        0,
      ),
    )
    .join(separator);
}

/** A line, or nothing where none failed. */
export function failures(each: MeasuredCase): string {
  const sum = (figure: (round: Measured) => number): number =>
    each.rounds.reduce((total, round) => total + figure(round), 0);
  const failed = sum((round) => round.failed);
  if (failed === 0) return '';
  const example = each.rounds.find(({ failure }) => failure !== '')?.failure ?? '';
  const calls = failed + sum((round) => round.calls);
  return `${each.workload}, ${labelOfCase(each)}: ${failed} of ${calls} calls failed: ${example}\n`;
}

function goalsTable(goals: readonly JudgedGoal[], isColoured: boolean): string {
  const rows = goals.map((goal) => {
    const { against, measured, isMet } = goal;
    const { wanted, median, range, verdict } = goalCells(goal);
    const colour = isMet === undefined || !isColoured ? undefined : isMet ? 32 : 31;
    return [
      against === undefined ? '' : labelOf(against),
      goalTitle(goal),
      wanted,
      ...(measured === undefined ? ['', ''] : [median, range]),
      colour === undefined ? verdict : `\u001B[${colour}m${verdict}\u001B[0m`,
    ];
  });
  return table(GOAL_COLUMNS, rows);
}

export function goalTitle({ title, figure }: JudgedGoal): string {
  return `${title}: ${figure === 'memoryMegabytes' ? 'memory' : FIGURES[figure].title}`;
}

export function goalCells({ figure, kind, bound, measured, isMet }: JudgedGoal): {
  readonly wanted: string;
  readonly median: string;
  readonly range: string;
  readonly verdict: string;
} {
  const [unit, digits] = figure === 'memoryMegabytes' ? ['MB', 0] : ['x', 2];
  const [sign, value] = 'least' in bound ? ['>=', bound.least] : ['<=', bound.most];
  const { median, least, most } = measured ?? { median: Number.NaN, least: Number.NaN, most: Number.NaN };
  const word = isMet === undefined ? 'not measured' : isMet ? 'met' : 'missed';
  return {
    wanted: `${sign} ${value} ${unit}`,
    median: `${fixed(median, digits)} ${unit}`,
    range: `${fixed(least, digits)} to ${fixed(most, digits)}`,
    verdict: kind === 'aim' ? `${word} (an aim)` : word,
  };
}
