import { code, table } from '../scripts/docs/markdown.ts';
import type { Counted } from './compare-counted.ts';
import {
  COMPARED,
  FIGURES,
  findCase,
  INSTEAD,
  labelOfCase,
  LABELS,
  LIST,
  medianOf,
  POINT,
  POINT_ALONE,
  POINT_MCP,
  validSlots,
  type Figure,
  type Ratio,
} from './compare-figures.ts';
import type { JudgedGoal } from './compare-goals.ts';
import type { MeasuredCase, Rounds, Slot } from './compare-measure.ts';
import type { Contestant, ContestantName } from './contestants/contestant.ts';
import type { Machine } from './report/machine.ts';
import { goalsTable, measuredOf, times, wanted } from './report/goals.ts';
import { barChart, lineChart, type BarGroup } from './report/plot.ts';
import { estimate, fixed, type Estimate } from './report/statistics.ts';

/** All that a run has found out: docs/performance/bench.json, and what tables and charts are made from. */
export interface CompareDocument {
  readonly machine: Machine;
  readonly run: Rounds & {
    /** Of this service, with the commit where that is known. */
    readonly version: string;
    /** As `2026-01-31 14:05 UTC`. */
    readonly started: string;
    readonly databaseConnections: number;
  };
  readonly contestants: readonly Pick<Contestant, 'name' | 'title' | 'settings'>[];
  readonly ratios: readonly Ratio[];
  readonly goals: readonly JudgedGoal[];
  readonly counted: Counted;
  readonly cases: readonly MeasuredCase[];
}

/** With a line for each slot. */
export function documentText({ cases, ...others }: CompareDocument): string {
  const lines = cases.map(
    ({ slots, ...each }) => `${json(each).slice(0, -1)},"slots":[\n${slots.map(json).join(',\n')}\n]}`,
  );
  return `${json(others).slice(0, -1)},"cases":[\n${lines.join(',\n')}\n]}\n`;
}

function json(value: object): string {
  return JSON.stringify(value, (_, each: unknown) => (typeof each === 'number' ? rounded(each) : each));
}

/** Six digits say more than any of these figures knows. */
function rounded(value: number): number | null {
  return Number.isFinite(value) ? Number(value.toPrecision(6)) : null;
}

/** What `documentText` has written, or an older form of it, which has no ratios. */
export function readDocument(text: string): CompareDocument {
  const document = JSON.parse(text, (_, value: unknown) => (value === null ? Number.NaN : value));
  return { ratios: [], ...document };
}

/** Pages of docs/, each with its parts between markers of these names. */
export const PAGES: Readonly<
  Record<string, Readonly<Record<string, (document: CompareDocument) => string>>>
> = {
  'performance.md': { headline, second: (document) => second(document), summary, verdicts },
  'performance/details.md': { run, goals, figures },
};

export function compareReport(document: CompareDocument): string {
  return `${[headline, summary, run, figures, goals].map((part) => part(document)).join('\n\n')}\n`;
}

/** What leads the page: the first figure of the first row, and what else one asks first. */
function headline({ cases, ratios, machine, run }: CompareDocument): string {
  const ours = (figure: Figure, subject = POINT): string => {
    const found = findCase(cases, subject, 'svc');
    return found === undefined ? '-' : amount(figure, found);
  };
  const to = ratios
    .filter(({ workload, figure }) => workload === POINT.workload && figure === 'withDatabase')
    .map(({ to, measured }) => `${times(measured)} that of ${THE[to] ?? LABELS[to]}`);
  return [
    `**A call that reads one row takes ${ours('withDatabase')} of CPU with the database: ${to.join(', ')}.**`,
    `The service's own processes take ${ours('cpu')} of it. ${machine.cores} cores, which load, service and database`,
    `share, answer ${ours('throughput')} at 32 connections. A single call takes ${ours('p50', POINT_ALONE)} at the`,
    `median. Measured with the packaged executables of svc ${run.version} (Node.js ${machine.node}), ${run.started};`,
    `in brackets, the ${INTERVAL}.`,
  ].join(' ');
}

const INTERVAL = 'interval that holds the true median in 95 of 100 such runs';
const THE: Readonly<Partial<Record<ContestantName, string>>> = {
  'same-topology': 'the same topology',
  'svc-before': 'the release before',
};

/** Ours, and as a multiple of each other's. */
function summary({ cases, ratios, counted: { memory } }: CompareDocument): string {
  const rows = COMPARED.flatMap(({ subject, figures }) =>
    figures.map((figure, at) => {
      const ours = findCase(cases, subject, 'svc');
      const to = INSTEAD.map((name) => {
        const found = ratios.find(
          (each) => each.title === subject.title && each.figure === figure && each.to === name,
        );
        return found === undefined ? '-' : times(found.measured);
      });
      const title = at === 0 ? subject.title : '';
      return [title, FIGURES[figure].title, ours === undefined ? '-' : amount(figure, ours), ...to];
    }),
  );
  const megabytes = (name: ContestantName): string => {
    const each = Object.values(memory[name] ?? {});
    return each.length === 0
      ? '-'
      : `${fixed(
          each.reduce((sum, value) => sum + value),
          0,
        )} MB`;
  };
  const columns = INSTEAD.map((name) => `to ${LABELS[name]}`);
  return table(
    ['', '', 'svc', ...columns],
    [...rows, ['after load', 'private memory', megabytes('svc'), ...INSTEAD.map(megabytes)]],
  );
}

/** Whether another run agrees: the median of each ratio lies within the interval of the kept one. */
export function second(kept: CompareDocument, again?: CompareDocument): string {
  if (again === undefined) return 'No second run has been made of these figures.';
  const outside = again.ratios.filter((ratio) => {
    const { measured } = kept.ratios.find((each) => isSame(each, ratio)) ?? {};
    return (
      measured !== undefined &&
      !(measured.low <= ratio.measured.median && ratio.measured.median <= measured.high)
    );
  });
  const run = `[A second run](performance/bench-second.json), of svc ${again.run.version}, ${again.run.started},`;
  if (outside.length === 0) {
    return `${run} agrees: the median of each ratio lies within the interval shown here.`;
  }
  const lines = outside.map(
    ({ title, figure, to, measured }) =>
      `- ${title}, ${FIGURES[figure].title} to ${LABELS[to]}: ${times(measured)}`,
  );
  return `${run} does not agree in ${outside.length} of ${again.ratios.length} ratios, whose medians lie outside the intervals shown here:\n\n${lines.join('\n')}`;
}

function isSame(one: Ratio, other: Ratio): boolean {
  return one.title === other.title && one.figure === other.figure && one.to === other.to;
}

/** How many goals are met; those that are not, by name. */
function verdicts({ goals }: CompareDocument): string {
  const counts = (['met', 'open', 'missed', 'not measured'] as const)
    .map((word) => ({ word, count: goals.filter(({ verdict }) => verdict === word).length }))
    .filter(({ count }) => count > 0);
  const lines = goals
    .filter(({ verdict }) => verdict === 'open' || verdict === 'missed')
    .map((goal) => `- ${goal.verdict}: ${goalTitle(goal)} ${wanted(goal)}: ${measuredOf(goal)}`);
  return [
    `Of ${goals.length} goals: ${counts.map(({ word, count }) => `${count} ${word}`).join(', ')}.`,
    ...lines,
  ]
    .join('\n')
    .replace('\n', '\n\n');
}

function run({ machine, run, contestants, cases }: CompareDocument): string {
  const { cores, cpu, memoryGigabytes, kernel, node, postgres, wrk } = machine;
  const slots = cases.flatMap((each) => each.slots);
  const valid = cases.flatMap(validSlots);
  const facts = [
    `svc ${run.version}, measured on ${run.started}: ${cores} cores (${cpu}), ${memoryGigabytes} GB, Linux ${kernel}`,
    `Node.js ${node}, PostgreSQL ${postgres}, wrk ${wrk}`,
    `${run.rounds} rounds, a slot of ${run.seconds} s in each for each line below, in an order drawn with seed ${run.seed}`,
    `${slots.length} slots, of which ${slots.length - valid.length} were void`,
    `At most ${run.databaseConnections} database connections for each contestant`,
  ];
  const settings = contestants.map(({ title, settings }) => `- ${title}: ${code(settings)}`);
  return `${facts.join('. ')}.\n\n${settings.join('\n')}`;
}

function goals({ goals }: CompareDocument): string {
  return goalsTable(goals.map((goal) => ({ ...goal, title: goalTitle(goal) })));
}

function goalTitle({ title, to }: JudgedGoal): string {
  return to === undefined ? title : `to ${LABELS[to]}: ${title}`;
}

function figures({ cases, contestants, counted: { memory } }: CompareDocument): string {
  const rows = cases.map((each) => {
    const cell = (of: (slot: Slot) => number, digits = 0): string => grouped(medianOf(each, of), digits);
    const label = labelOfCase(each);
    const parts = cpuOfEach(each);
    return [
      `${each.title}: ${each.name === 'svc' ? `**${label}**` : label}`,
      cell(FIGURES.withDatabase.of),
      cell(FIGURES.cpu.of) + (parts === '' ? '' : ` (${parts})`),
      cell((slot) => slot.databaseMicroseconds),
      cell(FIGURES.throughput.of),
      cell(FIGURES.p50.of, 2),
      cell(FIGURES.p99.of, 2),
      cell((slot) => slot.generatorMicroseconds),
    ];
  });
  const head = ['', 'both us', 'CPU us', 'database us', 'calls/s', 'p50 ms', 'p99 ms', 'load us'];
  const memoryRows = contestants.map(({ name, title }) => [
    title,
    Object.entries(memory[name] ?? {})
      .map(([process, megabytes]) => `${process} ${fixed(megabytes, 0)}`)
      .join(' + '),
  ]);
  const failed = cases.map(failures).filter((line) => line !== '');
  const failedText =
    failed.length === 0 ? 'No call failed.' : failed.map((line) => `- ${code(line)}`).join('\n');
  return `${table(head, rows)}\n\n${failedText}\n\n${table(['', 'private memory, MB'], memoryRows)}`;
}

/** Of each of its programs; empty if there is only one. */
function cpuOfEach(each: MeasuredCase): string {
  const programs = Object.keys(each.slots[0]?.processes ?? {});
  if (programs.length < 2) return '';
  return programs
    .map((program) =>
      fixed(
        medianOf(each, ({ processes }) => processes[program] ?? Number.NaN),
        0,
      ),
    )
    .join(' + ');
}

/** A line; empty if no call failed. */
function failures(each: MeasuredCase): string {
  const sum = (of: (slot: Slot) => number): number => each.slots.reduce((total, slot) => total + of(slot), 0);
  const failed = sum((slot) => slot.failed);
  if (failed === 0) return '';
  const example = each.slots.find(({ failure }) => failure !== '')?.failure.trim() ?? '';
  const calls = failed + sum((slot) => slot.calls);
  return `${each.workload}, ${labelOfCase(each)}: ${failed} of ${calls} calls failed: ${example}`;
}

const UNITS: Readonly<Record<Figure, readonly [unit: string, digits: number]>> = {
  withDatabase: ['us', 0],
  cpu: ['us', 0],
  throughput: ['calls/s', 0],
  p50: ['ms', 2],
  p99: ['ms', 2],
};

/** Of one of ours, with its interval. */
function amount(figure: Figure, measured: MeasuredCase): string {
  const { median, low, high } = estimate(validSlots(measured).map(FIGURES[figure].of)) ?? NOTHING;
  const [unit, digits] = UNITS[figure];
  const [middle, ...ends] = [median, low, high].map((value) => grouped(value, digits) || '-');
  return `${middle} ${unit} (${ends.join(' to ')})`;
}

const NOTHING: Estimate = { median: Number.NaN, low: Number.NaN, high: Number.NaN };

function grouped(value: number, digits: number): string {
  if (!Number.isFinite(value)) return '';
  return value.toLocaleString('en-US', { minimumFractionDigits: digits, maximumFractionDigits: digits });
}

/** Ours is drawn first. */
const CHARTED = ['svc', 'same-topology', 'toolbox', 'fastify'] as const;

const AT_32 = [
  { ...POINT, title: 'One row, REST' },
  ...POINT_MCP.slice(0, 1).map((subject) => ({ ...subject, title: 'One row, MCP' })),
  { ...LIST, title: '100 rows, REST' },
];
const ALONE = [{ ...POINT_ALONE, title: 'One row, REST' }];
const CONNECTIONS = [1, 32, 128];

type Reader = (slot: Slot) => number;

/** File names and SVG documents, of the medians. */
export function charts({ cases }: CompareDocument): Readonly<Record<string, string>> {
  const bars = (chosen: typeof AT_32, value: Reader, more?: Reader): readonly BarGroup[] =>
    chosen.map((subject) => ({
      title: subject.title,
      bars: CHARTED.flatMap((name) => {
        const found = findCase(cases, subject, name);
        if (found === undefined) return [];
        const second = more === undefined ? 0 : medianOf(found, more);
        return { label: LABELS[name], value: medianOf(found, value), more: second, ours: name === 'svc' };
      }),
    }));
  return {
    'throughput.svg': barChart({
      title: 'Throughput at 32 connections: more is better',
      axis: 'calls per second; load, service and database share the machine',
      groups: bars(AT_32, FIGURES.throughput.of),
    }),
    'cpu.svg': barChart({
      title: 'CPU of a call, 32 connections: less is better',
      axis: 'microseconds of user and system time per call',
      parts: ['all processes of the service', 'the database'],
      groups: bars(AT_32, FIGURES.cpu.of, ({ databaseMicroseconds }) => databaseMicroseconds),
    }),
    'latency.svg': barChart({
      title: 'Time of a call when there is one at a time: less is better',
      axis: 'milliseconds, median of the calls',
      groups: bars(ALONE, FIGURES.p50.of),
    }),
    'connections.svg': lineChart({
      title: 'Throughput against connections: one row, REST',
      xAxis: 'connections, each with one call at a time',
      yAxis: 'calls per second',
      xScale: 'log',
      series: CHARTED.map((name) => ({
        label: LABELS[name],
        points: CONNECTIONS.flatMap((x) => {
          const found = findCase(cases, { workload: `point-${x}`, face: 'REST' }, name);
          return found === undefined ? [] : [{ x, y: medianOf(found, FIGURES.throughput.of) }];
        }),
      })).filter(({ points }) => points.length > 0),
    }),
  };
}
