import { lines, type Unplaced } from './panels.ts';
import type { Queries } from './queries.ts';

/** What both programs say of their process, under the names of prom-client. */
export function processRow(queries: Queries, tracesDropped: string): Readonly<Record<string, Unplaced>> {
  const ofProcess = (name: string): string => `${name}{job=~"$job", instance=~"$instance"}`;
  const each = (expression: string): string => `sum by (instance) (${queries.process(expression)})`;
  return {
    CPU: lines('none', 'Cores in use. 1 for each process is the limit: add workers.', {
      '{{instance}}': each(`rate(${ofProcess('process_cpu_seconds_total')}[$__rate_interval])`),
    }),
    Memory: lines(
      'bytes',
      'Resident memory. It follows the load; please report a line that only grows for days.',
      { '{{instance}}': each(ofProcess('process_resident_memory_bytes')) },
    ),
    'Delay of the event loop, 99 of 100': lines(
      's',
      'Delay of the event loop. Above 0.1 s the process is busy with one thing for too long, or has too little CPU.',
      { '{{instance}}': each(ofProcess('nodejs_eventloop_lag_p99_seconds')) },
    ),
    'Spans lost': lines(
      'ops',
      'Spans that were dropped, because the collector is away or too slow. Lower the sampling, or make the collector larger. Empty without traces.',
      { '{{instance}}': queries.rate(tracesDropped, { by: ['instance'] }) },
    ),
  };
}
