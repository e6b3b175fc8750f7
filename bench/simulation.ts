import { readFile, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { replacePart, table as markdownTable } from '../scripts/docs/markdown.ts';
import { readOrUsage, wholeNumber } from '../tests/trust/read-or-usage.ts';
import { table } from './report/table.ts';
import { version } from './report/version.ts';
import { WAYS, type Way } from './simulation/cell.ts';
import { SCENARIOS, type Scenario } from './simulation/scenarios.ts';
import { simulate, type Outcome } from './simulation/simulate.ts';

const PAGE = fileURLToPath(new URL('../docs/performance/fleets.md', import.meta.url));
const CELL = 1000;

const USAGE = `Usage: npm run bench:simulation [-- --agents N --seed S] [--json] [--write]

What many agents do when gateways start, end, are replaced or go dark: the agent's own code that keeps its links, its
back-off and the gateway's bounds for unauthenticated peers, on a virtual clock and network. N agents (default 10,000)
in cells of 1,000 with 10 replicas each, where agents find them by the addresses of a name; one cell for every other way.
The same seed (default 1) gives the same figures. It takes some six minutes.

--write     also writes a table of docs/performance/fleets.md

Ends with 1 when links are missing in the end where every replica can be found, 2 for wrong usage.
`;

interface Options {
  readonly agents: number;
  readonly seed: number;
  readonly json: boolean;
  readonly write: boolean;
}

interface Line {
  readonly scenario: Scenario;
  readonly way: Way;
  readonly cells: readonly Outcome[];
}

const WAY_TITLES: Readonly<Record<Way, string>> = {
  addresses: 'addresses of a name',
  numbers: 'a host name each',
  random: 'balancer, random',
  least: 'balancer, least connections',
  source: 'balancer, by source',
};

const COLUMNS = [
  { title: 'what happens' },
  { title: 'how replicas are found' },
  { title: 'dials', right: true },
  { title: 'duplicates', right: true },
  { title: '50 %', right: true },
  { title: '90 %', right: true },
  { title: 'all links', right: true },
  { title: 'dials/s', right: true },
  { title: '429', right: true },
  { title: 'links a replica', right: true },
  { title: 'without agent', right: true },
  { title: 'nor elsewhere', right: true },
] as const;

/** Resolves to the exit code. */
export async function main(args: readonly string[]): Promise<number> {
  const options = readOrUsage(USAGE, () => read(args));
  if (typeof options === 'number') return options;
  const lines: Line[] = [];
  for (const scenario of SCENARIOS) {
    for (const way of WAYS) {
      process.stderr.write(`${scenario.name}: ${WAY_TITLES[way]}\n`);
      lines.push({ scenario, way, cells: cellsOf(scenario, way, options) });
    }
  }
  const rows = lines.map(rowOf);
  process.stdout.write(options.json ? `${JSON.stringify(lines.map(plain))}\n` : table(COLUMNS, rows));
  if (options.write) {
    const place = `svc ${await version()}, ${options.agents.toLocaleString('en-US')} agents, seed ${options.seed}.`;
    const part = `${place}\n\n${markdownTable(
      COLUMNS.map(({ title }) => title),
      rows,
    )}`;
    await writeFile(PAGE, replacePart(await readFile(PAGE, 'utf8'), 'simulation', part));
  }
  const missing = lines.filter(
    ({ way, cells }) =>
      (way === 'addresses' || way === 'numbers') && cells.some(({ linkedMs }) => linkedMs[100] === undefined),
  );
  for (const { scenario, way } of missing) {
    process.stderr.write(`links are missing in the end: ${scenario.name}, ${WAY_TITLES[way]}\n`);
  }
  return missing.length === 0 ? 0 : 1;
}

/** Undefined for help; throws TypeError for wrong usage. */
function read(args: readonly string[]): Options | undefined {
  const options = {
    agents: { type: 'string', default: '10000' },
    seed: { type: 'string', default: '1' },
    json: { type: 'boolean', default: false },
    write: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  } as const;
  const { values } = parseArgs({ args: [...args], options });
  if (values.help) return undefined;
  return {
    agents: wholeNumber('agents', values.agents, 100_000),
    seed: wholeNumber('seed', values.seed, 1_000_000),
    json: values.json,
    write: values.write,
  };
}

function cellsOf(scenario: Scenario, way: Way, { agents, seed }: Options): readonly Outcome[] {
  const cells = way === 'addresses' ? Math.ceil(agents / CELL) : 1;
  return Array.from({ length: cells }, (_, at) =>
    simulate(scenario, way, Math.min(CELL, agents - at * CELL), seed + at),
  );
}

/** Of several cells: the mean of what counts for each agent, the sum of what comes at once, the worst of all else. */
function rowOf({ scenario, way, cells }: Line): readonly string[] {
  const most = (of: (cell: Outcome) => number): number => Math.max(...cells.map(of));
  const sum = (of: (cell: Outcome) => number): number => cells.reduce((total, cell) => total + of(cell), 0);
  const mean = (of: (cell: Outcome) => number): number => sum(of) / cells.length;
  const seconds = (share: 50 | 90 | 100): string => {
    const worst = most(({ linkedMs }) => linkedMs[share] ?? Infinity);
    return worst === Infinity ? 'never' : `${(worst / 1000).toFixed(1)} s`;
  };
  const least = Math.min(...cells.map(({ linksPerReplica }) => linksPerReplica[0]));
  return [
    scenario.name,
    WAY_TITLES[way],
    mean(({ dials }) => dials).toFixed(1),
    mean(({ duplicates }) => duplicates).toFixed(1),
    seconds(50),
    seconds(90),
    seconds(100),
    sum(({ peakDials }) => peakDials).toLocaleString('en-US'),
    sum(({ refused }) => refused).toLocaleString('en-US'),
    `${least} to ${most(({ linksPerReplica }) => linksPerReplica[1])}`,
    `${most(({ unanswered }) => unanswered.first).toFixed(1)} s`,
    `${most(({ unanswered }) => unanswered.second).toFixed(1)} s`,
  ];
}

function plain({ scenario, way, cells }: Line): object {
  return { scenario: scenario.name, way, cells };
}
