import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { cpus, totalmem } from 'node:os';
import { replacePart, table } from '../../scripts/docs/markdown.ts';
import { lineChart } from '../report/plot.ts';
import { isMet, type Figure, type Measurement, type Row } from './row.ts';

export interface Report {
  readonly version: string;
  readonly node: string;
  readonly rounds: number;
  readonly seconds: number;
  readonly results: readonly Result[];
}

export interface Result {
  readonly row: Row;
  readonly measurement: Measurement;
}

export function text({ results }: Report): string {
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
    `${digits(value)} ${unit}`,
    ratio === undefined ? '' : `${digits(ratio.median)} x (${digits(ratio.least)} to ${digits(ratio.most)})`,
    goal === undefined ? '' : `${goal.bound} ${digits(goal.limit)} ${goal.of === 'ratio' ? 'x' : unit}`,
    met === undefined ? '' : met ? 'met' : 'MISSED',
  ];
}

function digits(value: number): string {
  const size = Math.abs(value);
  const maximumFractionDigits = size < 10 ? 2 : size < 100 ? 1 : 0;
  return value.toLocaleString('en-US', { maximumFractionDigits });
}

export function missedGoals({ results }: Report): readonly string[] {
  return results.flatMap(({ row: { title }, measurement: { figures } }) => {
    const missed = figures.filter((figure) => isMet(figure) === false).map(cellsOf);
    return missed.map((cells) => `${title}: ${cells.filter((cell) => cell !== '').join(', ')}`);
  });
}

export function json({ version, node, rounds, seconds, results }: Report): string {
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
function partOf({ version, node, rounds, seconds, results }: Report, part: Page['part']): string {
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

/** Where a report goes: a document of `docs/`, and which of its parts, which is also the name of its files. */
export interface Page {
  readonly document: string;
  readonly part: 'scale' | 'fleet';
}

const DOCS = fileURLToPath(new URL('../../docs', import.meta.url));

/** In `docs/performance` the figures as JSON and a chart of each row that has one; then its part of the document. */
export async function writeReport(report: Report, { document, part }: Page): Promise<void> {
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
  const page = join(DOCS, document);
  await writeFile(page, replacePart(await readFile(page, 'utf8'), part, partOf(report, part)));
}
