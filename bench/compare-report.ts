import { code, table } from '../scripts/docs/markdown.ts';
import type { CompareDocument } from './compare-document.ts';
import {
  FIGURES,
  findCase,
  labelOf,
  labelOfCase,
  medianOf,
  ratioOf,
  type Figure,
} from './compare-figures.ts';
import type { JudgedGoal } from './compare-goals.ts';
import type { Measured, MeasuredCase } from './compare-measure.ts';
import { REVISIONS } from './contestants/faces.ts';
import { fixed } from './report/statistics.ts';

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
  const columns = INSTEAD.map((name) => `to ${labelOf(name)}`);
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
    return [against === undefined ? '' : labelOf(against), goalTitle(goal), wanted, ...known, verdict];
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
