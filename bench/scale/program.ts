import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { cpus, totalmem } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createReleasers, startPostgres } from '@svc/testkit';
import { replacePart, table } from '../../scripts/docs/markdown.ts';
import { pathWith, type NodeExecutable } from '../contestants/node-executable.ts';
import { whyNoLoad } from '../load/wrk.ts';
import { version } from '../report/machine.ts';
import { readOptions, say } from '../report/options.ts';
import { lineChart } from '../report/plot.ts';
import { readable } from '../report/statistics.ts';
import { DATABASE, SQL } from './library.ts';
import { isMet, type Figure, type Measurement, type Row } from './row.ts';

/** Which part of which page of `docs/` a report becomes; the part is also the name of its files. */
const PAGES = { scale: 'performance/details.md', fleet: 'performance/fleets.md' } as const;
type Part = keyof typeof PAGES;

export async function measureRows(
  args: readonly string[],
  program: {
    readonly usage: string;
    readonly rows: readonly Row[];
    /** Default 5 rounds of 3 seconds. */
    readonly usual?: { readonly rounds: number; readonly seconds: number };
    /** What `--write` writes; without it there is no `--write`. */
    readonly part?: Part;
  },
): Promise<number> {
  const { usage, rows: all, usual = { rounds: 5, seconds: 3 }, part } = program;
  const numbers = { rounds: [usual.rounds, 1000], seconds: [usual.seconds, 600] } as const;
  const names = all.map(({ name }) => name);
  const options = readOptions(usage, args, numbers, {
    names,
    node: true,
    writes: part === undefined ? [] : ['write'],
  });
  if (typeof options === 'number') return options;
  const noLoad = whyNoLoad();
  if (noLoad !== undefined) {
    say(noLoad);
    return 2;
  }
  const report = await measureAll({
    rounds: options.number('rounds'),
    seconds: options.number('seconds'),
    rows: options.only.length === 0 ? all : all.filter(({ name }) => options.only.includes(name)),
    node: options.node,
  });
  process.stdout.write(`${options.json ? json(report) : text(report)}\n`);
  if (options.writes.length > 0 && part !== undefined) await writeReport(report, part);
  const missed = missedGoals(report);
  for (const each of missed) say(`missed: ${each}`);
  const complete = report.results.every(({ measurement }) => measurement.isComplete ?? true);
  return missed.length === 0 && complete ? 0 : 1;
}

interface Options {
  readonly rounds: number;
  readonly seconds: number;
  readonly rows: readonly Row[];
  readonly node: NodeExecutable;
}

/** Each row with a service of its own, all with the same database. */
async function measureAll({ rounds, seconds, rows, node }: Options): Promise<Report> {
  const whole = createReleasers();
  try {
    const { PATH, folder } = await pathWith(node);
    await whole.add(() => folder.remove());
    // All that is started from here on gets it.
    process.env['PATH'] = PATH;
    const postgres = await startPostgres();
    await whole.add(() => postgres.stop());
    await postgres.createDatabase(DATABASE);
    await postgres.execute(DATABASE, SQL);
    const results: Result[] = [];
    for (const row of rows) {
      const releasers = createReleasers();
      const sayOfRow = (text: string): void => say(`${row.title}: ${text}`);
      try {
        const measurement = await row.measure({ rounds, seconds, postgres, releasers, say: sayOfRow });
        results.push({ row, measurement });
      } finally {
        await releasers.closeAll();
      }
    }
    return { version: await version(), node: node.version, rounds, seconds, results };
  } finally {
    await whole.closeAll();
  }
}

interface Report {
  readonly version: string;
  readonly node: string;
  readonly rounds: number;
  readonly seconds: number;
  readonly results: readonly Result[];
}

interface Result {
  readonly row: Row;
  readonly measurement: Measurement;
}

function text({ results }: Report): string {
  const heads = ['what', 'size', 'figure', 'ratio', 'goal', ''];
  const parts = results.map(({ row: { title }, measurement: { figures, notes } }) =>
    [title, table(heads, figures.map(cellsOf)), ...notes.map((note) => `  ${note}`)].join('\n'),
  );
  return parts.join('\n\n');
}

function cellsOf(figure: Figure): readonly string[] {
  const { what, size, value, unit, ratio, goal } = figure;
  const met = isMet(figure);
  return [
    what,
    size,
    `${readable(value)} ${unit}`,
    ratio === undefined
      ? ''
      : `${readable(ratio.median)} x (${readable(ratio.least)} to ${readable(ratio.most)})`,
    goal === undefined ? '' : `${goal.bound} ${readable(goal.limit)} ${goal.of === 'ratio' ? 'x' : unit}`,
    met === undefined ? '' : met ? 'met' : 'MISSED',
  ];
}

function missedGoals({ results }: Report): readonly string[] {
  return results.flatMap(({ row: { title }, measurement: { figures } }) => {
    const missed = figures.filter((figure) => isMet(figure) === false).map(cellsOf);
    return missed.map((cells) => `${title}: ${cells.filter((cell) => cell !== '').join(', ')}`);
  });
}

function json({ version, node, rounds, seconds, results }: Report): string {
  return JSON.stringify(
    {
      version,
      node,
      cores: cpus().length,
      memoryGb: Math.round(totalmem() / 2 ** 30),
      rounds,
      seconds,
      rows: results.map(({ row, measurement }) => ({
        name: row.name,
        title: row.title,
        figures: measurement.figures.map((figure) => ({ ...figure, met: isMet(figure) })),
        notes: measurement.notes,
      })),
    },
    undefined,
    2,
  );
}

/** The figures that have a goal; of a fleet all, since the figures without one are what others are compared with. */
function partOf({ version, node, rounds, seconds, results }: Report, part: Part): string {
  const rows = results.flatMap(({ row, measurement }) =>
    measurement.figures
      .filter(({ goal }) => goal !== undefined || part === 'fleet')
      .map((figure) => {
        const [what, size, value, ratio, goal, verdict] = cellsOf(figure);
        const measured = figure.goal?.of === 'value' || ratio === '' ? value : `${ratio}, ${value}`;
        return [`${row.title}: ${what}, ${size}`, goal, measured, verdict?.toLowerCase()].map(
          (cell) => cell ?? '',
        );
      }),
  );
  const place = `svc ${version}, Node.js ${node}, ${rounds} rounds of ${seconds} s.`;
  return `${place}\n\n${table(['what', 'wanted', 'measured (least to most)', ''], rows)}`;
}

const DOCS = fileURLToPath(new URL('../../docs', import.meta.url));

/** In `docs/performance` the figures as JSON and a chart of each row that has one; then its part of the document. */
async function writeReport(report: Report, part: Part): Promise<void> {
  const folder = join(DOCS, 'performance');
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, `${part}.json`), `${json(report)}\n`);
  for (const { row, measurement } of report.results) {
    if (row.chart === undefined) continue;
    const { xAxis, yAxis, lines } = row.chart;
    const series = lines.map((label) => ({
      label,
      points: measurement.figures
        .filter(({ what }) => what === label)
        .flatMap(({ at, value }) => (at === undefined ? [] : [{ x: at, y: value }])),
    }));
    const chart = lineChart({ title: row.title, xAxis, yAxis, xScale: 'log', series });
    await writeFile(join(folder, `${part}-${row.name}.svg`), chart);
  }
  const page = join(DOCS, PAGES[part]);
  await writeFile(page, replacePart(await readFile(page, 'utf8'), part, partOf(report, part)));
}
