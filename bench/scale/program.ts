import { parseArgs } from 'node:util';
import { createReleasers, startPostgres } from '@svc/testkit';
import { readOrUsage, wholeNumber } from '../../tests/trust/read-or-usage.ts';
import { nodeExecutable, OWN_NODE, pathWith, type NodeExecutable } from '../contestants/node-executable.ts';
import { whyNoLoad } from '../load/wrk.ts';
import { version } from '../report/machine.ts';
import { DATABASE, SQL } from './library.ts';
import { json, missedGoals, text, writeReport, type Page, type Report, type Result } from './report.ts';
import type { Row } from './row.ts';

export interface Program {
  readonly usage: string;
  readonly rows: readonly Row[];
  /** Default 5 rounds of 3 seconds. */
  readonly usual?: { readonly rounds: string; readonly seconds: string };
  /** What `--write` writes; without one there is no `--write`. */
  readonly page?: Page;
}

interface Options {
  readonly rounds: number;
  readonly seconds: number;
  readonly rows: readonly Row[];
  readonly node: NodeExecutable;
  readonly json: boolean;
  /** Undefined without `--write`. */
  readonly page: Page | undefined;
}

export async function measureRows(program: Program, args: readonly string[]): Promise<number> {
  const options = readOrUsage(program.usage, () => read(program, args));
  if (typeof options === 'number') return options;
  const noLoad = whyNoLoad();
  if (noLoad !== undefined) {
    process.stderr.write(`${noLoad}\n`);
    return 2;
  }
  const report = await measureAll(options);
  process.stdout.write(`${options.json ? json(report) : text(report)}\n`);
  if (options.page !== undefined) await writeReport(report, options.page);
  const missed = missedGoals(report);
  for (const each of missed) process.stderr.write(`missed: ${each}\n`);
  const complete = report.results.every(({ measurement }) => measurement.isComplete);
  return missed.length === 0 && complete ? 0 : 1;
}

/** Undefined for help; throws TypeError for wrong usage. */
function read({ rows: all, usual, page }: Program, args: readonly string[]): Options | undefined {
  const options = {
    rounds: { type: 'string', default: usual?.rounds ?? '5' },
    seconds: { type: 'string', default: usual?.seconds ?? '3' },
    only: { type: 'string' },
    node: { type: 'string' },
    json: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
    write: { type: 'boolean', default: false },
  } as const;
  const { values } = parseArgs({ args: [...args], options });
  if (values.help) return undefined;
  const { only, node } = values;
  const rows = only === undefined ? all : all.filter(({ name }) => name === only);
  if (rows.length === 0) {
    throw new TypeError(`--only must be one of ${all.map(({ name }) => name).join(', ')}`);
  }
  if (values.write && page === undefined) throw new TypeError('--write: these figures have no page');
  if (values.write && only !== undefined) throw new TypeError('--write wants every row: leave out --only');
  return {
    rounds: wholeNumber('rounds', values.rounds, 1000),
    seconds: wholeNumber('seconds', values.seconds, 600),
    rows,
    node: node === undefined ? OWN_NODE : nodeExecutable(node),
    json: values.json,
    page: values.write ? page : undefined,
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
