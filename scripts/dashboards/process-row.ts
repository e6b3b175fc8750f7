import { lines, type Unplaced } from './panels.ts';
import type { Queries } from './queries.ts';

/** What both programs say of their process, under the names of prom-client. */
export function processRow(queries: Queries, tracesDropped: string): readonly Unplaced[] {
  const ofProcess = (name: string): string => `${name}{job=~"$job", instance=~"$instance"}`;
  const each = (expression: string): string => `sum by (instance) (${queries.process(expression)})`;
  return [
    lines(
      {
        title: 'CPU',
        description: 'Cores in use. 1 for each process is the limit: add workers.',
        unit: 'none',
      },
      { '{{instance}}': each(`rate(${ofProcess('process_cpu_seconds_total')}[$__rate_interval])`) },
    ),
    lines(
      {
        title: 'Memory',
        description: 'Resident memory. It follows the load; please report a line that only grows for days.',
        unit: 'bytes',
      },
      { '{{instance}}': each(ofProcess('process_resident_memory_bytes')) },
    ),
    lines(
      {
        title: 'Delay of the event loop, 99 of 100',
        description:
          'Delay of the event loop. Above 0.1 s the process is busy with one thing for too long, or has too little CPU.',
        unit: 's',
      },
      { '{{instance}}': each(ofProcess('nodejs_eventloop_lag_p99_seconds')) },
    ),
    lines(
      {
        title: 'Spans lost',
        description:
          'Spans that were dropped, because the collector is away or too slow. Lower the sampling, or make the collector larger. Empty without traces.',
        unit: 'ops',
      },
      { '{{instance}}': queries.rate(tracesDropped, { by: ['instance'] }) },
    ),
  ];
}
