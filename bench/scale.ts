import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { createReleasers, startPostgres } from '@svc/testkit';
import { readOrUsage, wholeNumber } from '../tests/trust/read-or-usage.ts';
import { nodeExecutable, OWN_NODE, pathWith, type NodeExecutable } from './contestants/node-executable.ts';
import { whyNoLoad } from './load/wrk.ts';
import { version } from './report/version.ts';
import { agents } from './scale/agents.ts';
import { agentStart } from './scale/agent-start.ts';
import { capabilities } from './scale/capabilities.ts';
import { idleConnections } from './scale/idle-connections.ts';
import { largeResult } from './scale/large-result.ts';
import { DATABASE, SQL } from './scale/library.ts';
import { memory } from './scale/memory.ts';
import { json, missedGoals, table, writeReport, type Report, type Result } from './scale/report.ts';
import { resultSize } from './scale/result-size.ts';
import type { Row } from './scale/row.ts';
import { workers } from './scale/workers.ts';
import { toolsList } from './scale/tools-list.ts';

const ROWS: readonly Row[] = [
  capabilities,
  toolsList,
  agentStart,
  idleConnections,
  resultSize,
  largeResult,
  memory,
  workers,
  agents,
];
const FOLDER = fileURLToPath(new URL('../docs/performance', import.meta.url));

const PAGE = `${FOLDER}.md`;

const USAGE = `Usage: npm run bench:scale [-- --rounds N --seconds S] [--only ROW] [--node PATH] [--json] [--write]

How cost grows: with capabilities and keys, tools, idle connections, the size of results, workers and agents. What is compared runs in
turn, in N rounds (default 5) of S seconds (default 3); figures are medians, ratios are taken within each round. The
whole takes some ten minutes and a quiet machine. Linux only; needs wrk.

--only ROW  one row: ${ROWS.map(({ name }) => name).join(', ')}
--node PATH runs the service with this executable of Node.js, instead of the one that runs this
--write     also writes docs/performance/scale.json, a chart for each row and the table of docs/performance.md; not with
            --only

Ends with 1 when a goal is missed or something could not be measured, 2 for wrong usage.
`;

interface Options {
  readonly rounds: number;
  readonly seconds: number;
  readonly rows: readonly Row[];
  readonly node: NodeExecutable;
  readonly json: boolean;
  readonly write: boolean;
}

/** Resolves to the exit code. */
export async function main(args: readonly string[]): Promise<number> {
  const options = readOrUsage(USAGE, () => read(args));
  if (typeof options === 'number') return options;
  const noLoad = whyNoLoad();
  if (noLoad !== undefined) {
    process.stderr.write(`${noLoad}\n`);
    return 2;
  }
  const report = await measureAll(options);
  process.stdout.write(`${options.json ? json(report) : table(report)}\n`);
  if (options.write) await writeReport(report, PAGE, FOLDER);
  const missed = missedGoals(report);
  for (const each of missed) process.stderr.write(`missed: ${each}\n`);
  const complete = report.results.every(({ measurement }) => measurement.isComplete);
  return missed.length === 0 && complete ? 0 : 1;
}

/** Undefined for help; throws TypeError for wrong usage. */
function read(args: readonly string[]): Options | undefined {
  const options = {
    rounds: { type: 'string', default: '5' },
    seconds: { type: 'string', default: '3' },
    only: { type: 'string' },
    node: { type: 'string' },
    json: { type: 'boolean', default: false },
    write: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  } as const;
  const { values } = parseArgs({ args: [...args], options });
  if (values.help) return undefined;
  const { only, node } = values;
  const rows = only === undefined ? ROWS : ROWS.filter(({ name }) => name === only);
  if (rows.length === 0) {
    throw new TypeError(`--only must be one of ${ROWS.map(({ name }) => name).join(', ')}`);
  }
  if (values.write && only !== undefined) throw new TypeError('--write wants every row: leave out --only');
  return {
    rounds: wholeNumber('rounds', values.rounds, 100),
    seconds: wholeNumber('seconds', values.seconds, 60),
    rows,
    node: node === undefined ? OWN_NODE : nodeExecutable(node),
    json: values.json,
    write: values.write,
  };
}

/** Each row with a service of its own, all with the same database. */
async function measureAll({ rounds, seconds, rows, node }: Options): Promise<Report> {
  const whole = createReleasers();
  try {
    const { PATH, folder } = await pathWith(node);
    await whole.add(() => folder.remove());
    // All that is started from here on gets it.
    process.env['PATH'] = PATH;
    const postgres = await startPostgres();
    await whole.add(() => postgres.stop());
    await postgres.createDatabase(DATABASE);
    await postgres.execute(DATABASE, SQL);
    const results: Result[] = [];
    for (const row of rows) {
      const releasers = createReleasers();
      const say = (text: string): void => void process.stderr.write(`${row.title}: ${text}\n`);
      try {
        const measurement = await row.measure({ rounds, seconds, postgres, releasers, say });
        results.push({ row, measurement });
      } finally {
        await releasers.closeAll();
      }
    }
    return { version: await version(), node: node.version, rounds, seconds, results };
  } finally {
    await whole.closeAll();
  }
}
