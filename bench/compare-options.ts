import { parseArgs } from 'node:util';
import { readOrUsage, wholeNumber } from '../tests/trust/read-or-usage.ts';
import { WORKLOADS, type Workload } from './compare-workloads.ts';
import { CONTESTANTS, type ContestantName } from './contestants/contestant.ts';

export interface CompareOptions {
  readonly rounds: number;
  /** Of each measurement. */
  readonly seconds: number;
  readonly workloads: readonly Workload[];
  readonly contestants: ReadonlySet<ContestantName>;
  readonly json: boolean;
  readonly write: boolean;
}

const USAGE = `Usage: npm run bench [-- --rounds N --seconds S --only NAME,... --json --write]

Measures this service beside MCP Toolbox, a hand-written Fastify service, a bare node:http server and pgbench, in
interleaved rounds, and judges the goals. Ends with 1 when a goal is missed. Wants a quiet machine with Linux and wrk;
the peers are installed the first time. Some ten minutes.

  --rounds N    rounds, whose medians are shown (default 5)
  --seconds S   of each measurement (default 4)
  --only ...    these contestants and workloads only:
                  ${CONTESTANTS.join(', ')}
                  ${WORKLOADS.map(({ name }) => name).join(', ')}
  --json        print the results as JSON, instead of the tables
  --write       write docs/performance/bench.json and the charts beside it; not with --only
`;

/** The exit code for help and wrong usage. */
export function readCompareOptions(args: readonly string[]): CompareOptions | 0 | 2 {
  return readOrUsage(USAGE, () => {
    const { values } = parseArgs({
      args: [...args],
      options: {
        rounds: { type: 'string', default: '5' },
        seconds: { type: 'string', default: '4' },
        only: { type: 'string', multiple: true, default: [] },
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
    contestants: new Set(contestants.length === 0 ? CONTESTANTS : contestants),
  };
  if (chosen.workloads.every((each) => !each.contestants.some((name) => chosen.contestants.has(name)))) {
    throw new TypeError('--only: none of these contestants has one of these workloads');
  }
  return chosen;
}
