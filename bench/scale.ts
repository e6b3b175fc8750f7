import { agentStart } from './scale/agent-start.ts';
import { capabilities } from './scale/capabilities.ts';
import { idleConnections } from './scale/idle-connections.ts';
import { largeResult } from './scale/large-result.ts';
import { memory } from './scale/memory.ts';
import { measureRows } from './scale/program.ts';
import { resultSize } from './scale/result-size.ts';
import type { Row } from './scale/row.ts';
import { toolsList } from './scale/tools-list.ts';

const ROWS: readonly Row[] = [
  capabilities,
  toolsList,
  agentStart,
  idleConnections,
  resultSize,
  largeResult,
  memory,
];

const USAGE = `Usage: npm run bench:scale [-- --rounds N --seconds S] [--only ROW] [--node PATH] [--json] [--write]

How cost grows: with capabilities and keys, tools, idle connections and the size of results. What is compared runs in
turn, in N rounds (default 5) of S seconds (default 3); figures are medians, ratios are taken within each round. The
whole takes some ten minutes and a quiet machine. Linux only; needs wrk.

--only ROW  one row: ${ROWS.map(({ name }) => name).join(', ')}
--node PATH runs the service with this executable of Node.js, instead of the one that runs this
--write     also writes docs/performance/scale.json, a chart for each row and a table of docs/performance/details.md; not with
            --only

Ends with 1 when a goal is missed or something could not be measured, 2 for wrong usage.
`;

export function main(args: readonly string[]): Promise<number> {
  return measureRows(args, { usage: USAGE, rows: ROWS, part: 'scale' });
}
