import { parseArgs } from 'node:util';
import { readOrUsage, wholeNumber } from '../tests/trust/read-or-usage.ts';
import { WORKLOADS, type Workload } from './compare-workloads.ts';
import { CONTESTANTS, type ContestantName } from './contestants/contestant.ts';
import { nodeExecutable, OWN_NODE, type NodeExecutable } from './contestants/node-executable.ts';

export interface CompareOptions {
  readonly rounds: number;
  readonly seconds: number;
  readonly workloads: readonly Workload[];
  readonly contestants: ReadonlySet<ContestantName>;
  /** On the first run our service and all peers that need one; on the others our service alone. One at least. */
  readonly nodes: readonly NodeExecutable[];
  readonly json: boolean;
  readonly write: boolean;
}

const USAGE = `Usage: npm run bench [-- --rounds N --seconds S --only NAME,... --node PATH --json --write]

Measures this service beside the same topology built from nginx, ssh and MCP Toolbox, beside MCP Toolbox as it is, a
hand-written Fastify service, a bare node:http server and pgbench, in interleaved rounds, and judges the goals. Wants a
quiet machine with Linux, wrk, nginx and OpenSSH's server; the peers are installed the first time. Some ten minutes, and
a minute more for each further Node.js.

  --rounds N    rounds, whose medians are shown (default 5)
  --seconds S   of each measurement (default 3)
  --only ...    these contestants and workloads only:
                  ${CONTESTANTS.join(', ')}
                  ${WORKLOADS.map(({ name }) => name).join(', ')}
  --node PATH   runs the service and the peers in Node.js with this executable, instead of the one that runs this; given
                more than once, the service is also measured with each further one
  --json        print the results as JSON, instead of the tables
  --write       write docs/performance/bench.json, the charts and the tables of details.md beside it, and the table of
                docs/performance.md; not with --only

Ends with 0 when every goal that was measured is met, whatever becomes of the aims; 1 when one is missed or something
failed; 2 for wrong usage or a missing program.
`;

export function readCompareOptions(args: readonly string[]): CompareOptions | 0 | 2 {
  return readOrUsage(USAGE, () => {
    const { values } = parseArgs({
      args: [...args],
      options: {
        rounds: { type: 'string', default: '5' },
        seconds: { type: 'string', default: '3' },
        only: { type: 'string', multiple: true, default: [] },
        node: { type: 'string', multiple: true, default: [] },
        json: { type: 'boolean', default: false },
        write: { type: 'boolean', default: false },
        help: { type: 'boolean', default: false },
      },
    });
    if (values.help) return undefined;
    if (values.write && values.only.length > 0) throw new TypeError('--write: not with --only');
    return {
      rounds: wholeNumber('rounds', values.rounds, 1000),
      seconds: wholeNumber('seconds', values.seconds, 600),
      ...chosen(values.only.flatMap((list) => list.split(','))),
      nodes: values.node.length === 0 ? [OWN_NODE] : values.node.map(nodeExecutable),
      json: values.json,
      write: values.write,
    };
  });
}

/** What is named; all of a kind when none of it is. */
function chosen(names: readonly string[]): Pick<CompareOptions, 'workloads' | 'contestants'> {
  const workloads = WORKLOADS.filter(({ name }) => names.includes(name));
  const contestants = CONTESTANTS.filter((name) => names.includes(name));
  const known = new Set<string>([...workloads.map(({ name }) => name), ...contestants]);
  const unknown = names.find((name) => !known.has(name));
  if (unknown !== undefined) throw new TypeError(`--only: there is no contestant or workload "${unknown}"`);
  const chosen = {
    workloads: workloads.length === 0 ? WORKLOADS : workloads,
    contestants: new Set<ContestantName>(contestants.length === 0 ? CONTESTANTS : contestants),
  };
  if (chosen.workloads.every((each) => !each.contestants.some((name) => chosen.contestants.has(name)))) {
    throw new TypeError('--only: none of these contestants has one of these workloads');
  }
  return chosen;
}
