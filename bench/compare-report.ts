import { code, table } from '../scripts/docs/markdown.ts';
import { FIGURES, findCase, LABELS, labelOfCase, medianOf, ratioOf, type Figure } from './compare-figures.ts';
import type { JudgedGoal } from './compare-goals.ts';
import type { Measured, MeasuredCase } from './compare-measure.ts';
import type { Contestant } from './contestants/contestant.ts';
import { REVISIONS } from './contestants/faces.ts';
import type { Machine } from './report/machine.ts';
import { barChart, lineChart, type BarGroup } from './report/plot.ts';
import { fixed } from './report/statistics.ts';

/** All that a run has found out: docs/performance/bench.json, and what tables and charts are made from. */
export interface CompareDocument {
  readonly machine: Machine;
  readonly run: {
    /** Of this service, with the commit where that is known. */
    readonly version: string;
    readonly rounds: number;
    readonly seconds: number;
    readonly databaseConnections: number;
  };
  readonly contestants: readonly Pick<Contestant, 'name' | 'title' | 'settings'>[];
  readonly goals: readonly JudgedGoal[];
  readonly cases: readonly MeasuredCase[];
}

export function documentText(document: CompareDocument): string {
  const text = JSON.stringify(
    document,
    (_, value: unknown) => (typeof value === 'number' ? rounded(value) : value),
    2,
  );
  return `${text}\n`;
}

/** Six digits say more than any of these figures knows. */
function rounded(value: number): number | null {
  return Number.isFinite(value) ? Number(value.toPrecision(6)) : null;
}

/** Pages of docs/, each with its parts between markers of these names. */
export const PAGES: Readonly<
  Record<string, Readonly<Record<string, (document: CompareDocument) => string>>>
> = {
  'performance.md': { summary },
  'performance/details.md': { run, goals, figures, 'node-versions': nodeVersions },
};

export function compareReport(document: CompareDocument): string {
  return `${[run, figures, goals].map((part) => part(document)).join('\n\n')}\n`;
}

/** What one would run instead, in the order of the page. */
const INSTEAD = ['same-topology', 'toolbox', 'fastify'] as const;

const COMPARED: readonly {
  readonly title: string;
  readonly workload: string;
  readonly face: string;
  readonly figures: readonly Figure[];
}[] = [
  {
    title: 'one row, REST, 32 connections',
    workload: 'point-32',
    face: 'REST',
    figures: ['throughput', 'cpu', 'withDatabase'],
  },
  ...REVISIONS.map((revision) => ({
    title: `one row, MCP ${revision}, 32 connections`,
    workload: 'point-mcp',
    face: `MCP ${revision}`,
    figures: ['throughput', 'cpu', 'withDatabase'] as const,
  })),
  {
    title: '100 rows, REST, 32 connections',
    workload: 'list',
    face: 'REST',
    figures: ['throughput', 'cpu', 'withDatabase'],
  },
  { title: 'one row, REST, one call at a time', workload: 'point-1', face: 'REST', figures: ['p50'] },
  { title: 'one row, REST, 64 connections', workload: 'point-64', face: 'REST', figures: ['p99'] },
];

/** Ours as a multiple of each other's. */
function summary({ machine, run, cases }: CompareDocument): string {
  const rows = COMPARED.flatMap(({ title, workload, face, figures }) => {
    const ours = findCase(cases, workload, 'svc', face);
    return figures.map((figure, at) => [
      at === 0 ? title : '',
      FIGURES[figure].title,
      ...INSTEAD.map((name) => times(ratioOf(figure, ours, findCase(cases, workload, name, face)))),
    ]);
  });
  const memory = (name: (typeof INSTEAD)[number] | 'svc'): number =>
    Math.max(
      ...cases
        .filter((each) => each.name === name)
        .map((each) => medianOf(each, (round) => round.memoryMegabytes)),
    );
  const memories = INSTEAD.map((name) =>
    Number.isFinite(memory(name)) ? `${whole(memory('svc'))} to ${whole(memory(name))} MB` : '-',
  );
  const place = `svc ${run.version} on Node.js ${machine.node}, ${machine.date}, ${machine.cores} cores for everything:`;
  const columns = INSTEAD.map((name) => `to ${LABELS[name]}`);
  const comparison = table(
    ['svc', '', ...columns],
    [...rows, ['the most after load', 'memory', ...memories]],
  );
  return `${place}\n\n${comparison}`;
}

function run({ machine, run, contestants }: CompareDocument): string {
  const { date, cores, cpu, memoryGigabytes, kernel, node, postgres, wrk } = machine;
  const facts = [
    `svc ${run.version}, measured on ${date}: ${cores} cores (${cpu}), ${memoryGigabytes} GB, Linux ${kernel}`,
    `Node.js ${node}, PostgreSQL ${postgres}, wrk ${wrk}`,
    `${run.rounds} rounds of ${run.seconds} s for each line below, at most ${run.databaseConnections} database connections for each contestant`,
  ];
  const settings = contestants.map(({ title, settings }) => `- ${title}: ${code(settings)}`);
  return `${facts.join('. ')}.\n\n${settings.join('\n')}`;
}

function goals({ goals }: CompareDocument): string {
  const rows = goals.map((goal) => {
    const { against, measured } = goal;
    const { wanted, median, range, verdict } = goalCells(goal);
    const known = measured === undefined ? ['', ''] : [median, range];
    return [against === undefined ? '' : LABELS[against], goalTitle(goal), wanted, ...known, verdict];
  });
  return table(['to', 'what', 'wanted', 'measured', 'least to most', ''], rows);
}

function figures({ cases }: CompareDocument): string {
  const rows = cases.map((each) => {
    const cell = (figure: (round: Measured) => number, digits = 0): string =>
      grouped(medianOf(each, figure), digits);
    const label = labelOfCase(each);
    const parts = cpuOfEach(each);
    return [
      `${each.title}: ${each.name === 'svc' ? `**${label}**` : label}`,
      cell(FIGURES.throughput.of),
      cell(FIGURES.p50.of, 2),
      cell(FIGURES.p99.of, 2),
      cell(FIGURES.cpu.of) + (parts === '' ? '' : ` (${parts})`),
      cell((round) => round.databaseMicroseconds),
      cell(FIGURES.withDatabase.of),
      cell((round) => round.generatorMicroseconds),
      cell((round) => round.memoryMegabytes),
    ];
  });
  const head = ['', 'calls/s', 'p50 ms', 'p99 ms', 'CPU us', 'database us', 'both us', 'load us', 'MB'];
  const failed = cases.map(failures).filter((line) => line !== '');
  const failedText =
    failed.length === 0 ? 'No call failed.' : failed.map((line) => `- ${code(line)}`).join('\n');
  return `${table(head, rows)}\n\n${failedText}`;
}

/** Ours on each Node.js, in one run. */
function nodeVersions({ cases }: CompareDocument): string {
  const others = cases.filter(({ name }) => name === 'svc-other-node');
  if (others.length === 0) return 'This run had one Node.js only.';
  const workloads = new Set(others.map(({ workload }) => workload));
  const rows = cases
    .filter((each) => each.name.startsWith('svc') && workloads.has(each.workload))
    .map((each) => {
      const first = findCase(cases, each.workload, 'svc', each.face);
      return [
        `${each.title}: ${each.contestant}`,
        `${grouped(medianOf(each, FIGURES.throughput.of), 0)} (${times(ratioOf('throughput', each, first))})`,
        grouped(medianOf(each, FIGURES.p50.of), 2),
        `${whole(medianOf(each, FIGURES.cpu.of))} (${times(ratioOf('cpu', each, first))})`,
        cpuOfEach(each),
        whole(medianOf(each, (round) => round.memoryMegabytes)),
      ];
    });
  return table(['', 'calls/s', 'p50 ms', 'CPU us', 'gateway + agent', 'MB'], rows);
}

/** Of each of its programs; empty if there is only one. */
function cpuOfEach(each: MeasuredCase): string {
  const programs = Object.keys(each.rounds[0]?.processes ?? {});
  if (programs.length < 2) return '';
  return programs
    .map((program) =>
      fixed(
        medianOf(each, ({ processes }) => processes[program]?.cpuMicroseconds ?? Number.NaN),
        0,
      ),
    )
    .join(' + ');
}

/** A line; empty if no call failed. */
function failures(each: MeasuredCase): string {
  const sum = (figure: (round: Measured) => number): number =>
    each.rounds.reduce((total, round) => total + figure(round), 0);
  const failed = sum((round) => round.failed);
  if (failed === 0) return '';
  const example = each.rounds.find(({ failure }) => failure !== '')?.failure ?? '';
  const calls = failed + sum((round) => round.calls);
  return `${each.workload}, ${labelOfCase(each)}: ${failed} of ${calls} calls failed: ${example}`;
}

function goalTitle({ title, figure }: JudgedGoal): string {
  return `${title}: ${figure === 'memoryMegabytes' ? 'memory' : FIGURES[figure].title}`;
}

function goalCells({ figure, kind, bound, measured, isMet }: JudgedGoal): {
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

function times(ratio: number): string {
  return Number.isNaN(ratio) ? '-' : `${ratio.toFixed(2)} x`;
}

function whole(value: number): string {
  return grouped(value, 0);
}

function grouped(value: number, digits: number): string {
  if (!Number.isFinite(value)) return '';
  return value.toLocaleString('en-US', { minimumFractionDigits: digits, maximumFractionDigits: digits });
}

/** Ours is drawn first. */
const CHARTED = ['svc', ...INSTEAD] as const;

const AT_32 = [
  { title: 'One row, REST', workload: 'point-32', face: 'REST' },
  { title: 'One row, MCP', workload: 'point-mcp', face: 'MCP 2025-11-25' },
  { title: '100 rows, REST', workload: 'list', face: 'REST' },
];
const ALONE = [{ title: 'One row, REST', workload: 'point-1', face: 'REST' }];
const CONNECTIONS = [1, 32, 64, 128];

type Reader = (round: Measured) => number;

/** File names and SVG documents, of medians of the rounds. */
export function charts({ cases }: CompareDocument): Readonly<Record<string, string>> {
  const bars = (chosen: typeof AT_32, value: Reader, more?: Reader): readonly BarGroup[] =>
    chosen.map(({ title, workload, face }) => ({
      title,
      bars: CHARTED.flatMap((name) => {
        const found = findCase(cases, workload, name, face);
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
          const found = findCase(cases, `point-${x}`, name, 'REST');
          return found === undefined ? [] : [{ x, y: medianOf(found, FIGURES.throughput.of) }];
        }),
      })).filter(({ points }) => points.length > 0),
    }),
  };
}
