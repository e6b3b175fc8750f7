import { agents } from './scale/agents.ts';
import { measureRows } from './scale/program.ts';
import { workers } from './scale/workers.ts';

const ROWS = [workers, agents];

const USAGE = `Usage: npm run bench:fleet [-- --rounds N --seconds S] [--only ROW] [--node PATH] [--json] [--write]

What a fleet costs: calls by one worker and by several, calls that a worker hands to its sibling, and the links of 2,000
agents, beside what the simulation says of them. What is compared runs in turn, in N rounds (default 5) of S seconds
(default 3); figures are medians, ratios are taken within each round. It takes some three minutes and a quiet machine.
Linux only; needs wrk.

--only ROW  one row: ${ROWS.map(({ name }) => name).join(', ')}
--node PATH runs the service with this executable of Node.js, instead of the one that runs this
--write     also writes docs/performance/fleet.json and a table of docs/performance/fleets.md; not with --only

Ends with 1 when a goal is missed or something could not be measured, 2 for wrong usage.
`;

export function main(args: readonly string[]): Promise<number> {
  return measureRows(args, { usage: USAGE, rows: ROWS, part: 'fleet' });
}
