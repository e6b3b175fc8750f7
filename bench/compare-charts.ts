import type { CompareDocument } from './compare-document.ts';
import { FIGURES, findCase, labelOf, medianOf } from './compare-figures.ts';
import type { Measured } from './compare-measure.ts';
import type { ContestantName } from './contestants/contestant.ts';
import { barChart, lineChart, type BarGroup } from './report/plot.ts';

/** What one would run, in the order of the page. */
const CONTESTANTS = [
  'svc',
  'same-topology',
  'toolbox',
  'fastify',
] as const satisfies readonly ContestantName[];

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
      bars: CONTESTANTS.flatMap((name) => {
        const found = findCase(cases, workload, name, face);
        if (found === undefined) return [];
        const second = more === undefined ? 0 : medianOf(found, more);
        return { label: labelOf(name), value: medianOf(found, value), more: second, ours: name === 'svc' };
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
      series: CONTESTANTS.map((name) => ({
        label: labelOf(name),
        points: CONNECTIONS.flatMap((x) => {
          const found = findCase(cases, `point-${x}`, name, 'REST');
          return found === undefined ? [] : [{ x, y: medianOf(found, FIGURES.throughput.of) }];
        }),
      })).filter(({ points }) => points.length > 0),
    }),
  };
}
