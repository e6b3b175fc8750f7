import { readFile, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { replacePart, table } from '../scripts/docs/markdown.ts';
import { version } from './report/machine.ts';
import { readOptions, say } from './report/options.ts';
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
  'what happens',
  'how replicas are found',
  'dials',
  'duplicates',
  '50 %',
  '90 %',
  'all links',
  'dials/s',
  '429',
  'links a replica',
  'without agent',
  'nor elsewhere',
];

export async function main(args: readonly string[]): Promise<number> {
  const options = readOptions(
    USAGE,
    args,
    { agents: [10_000, 100_000], seed: [1, 1_000_000] },
    { writes: ['write'] },
  );
  if (typeof options === 'number') return options;
  const [agents, seed] = [options.number('agents'), options.number('seed')];
  const lines: Line[] = [];
  for (const scenario of SCENARIOS) {
    for (const way of WAYS) {
      say(`${scenario.name}: ${WAY_TITLES[way]}`);
      const cells = Array.from({ length: way === 'addresses' ? Math.ceil(agents / CELL) : 1 }, (_, at) =>
        simulate(scenario, way, Math.min(CELL, agents - at * CELL), seed + at),
      );
      lines.push({ scenario, way, cells });
    }
  }
  const plain = lines.map((line) => ({ ...line, scenario: line.scenario.name }));
  const shown = table(COLUMNS, lines.map(rowOf));
  process.stdout.write(`${options.json ? JSON.stringify(plain) : shown}\n`);
  if (options.writes.length > 0) {
    const place = `svc ${await version()}, ${agents.toLocaleString('en-US')} agents, seed ${seed}.`;
    const page = await readFile(PAGE, 'utf8');
    await writeFile(PAGE, replacePart(page, 'simulation', `${place}\n\n${shown}`));
  }
  const missing = lines.filter(
    ({ way, cells }) =>
      (way === 'addresses' || way === 'numbers') && cells.some(({ linkedMs }) => linkedMs[100] === undefined),
  );
  for (const { scenario, way } of missing) {
    say(`links are missing in the end: ${scenario.name}, ${WAY_TITLES[way]}`);
  }
  return missing.length === 0 ? 0 : 1;
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
