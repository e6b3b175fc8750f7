import type { Releasers } from '@svc/testkit';
import { code, table } from '../scripts/docs/markdown.ts';
import { medianOf, validSlots, whyManyVoid } from './compare-figures.ts';
import { startBooks } from './contestants/books.ts';
import { installPeers } from './contestants/install-peers.ts';
import { whyNoToolbox } from './contestants/toolbox.ts';
import { goalsTable, type Goal, type Judged } from './report/goals.ts';
import { machine, version, type Machine } from './report/machine.ts';
import { readOptions, say } from './report/options.ts';
import { fixed } from './report/statistics.ts';
import { untilStopped } from './report/until-stopped.ts';
import { stdioContestants, TABLES_DATABASE, TABLES_SQL, type StdioContestant } from './stdio/contestants.ts';
import { judgeStdio } from './stdio/goals.ts';
import {
  AT_ONCE,
  CALLS,
  checkRows,
  measureStdio,
  type MeasuredStdio,
  type StdioSlot,
} from './stdio/measure.ts';
import { prepare, type Sizes } from './stdio/prepare.ts';

const USAGE = `Usage: npm run bench:stdio [-- --rounds N --seed N --json]

Measures \`svc stdio\` beside DBHub and MCP Toolbox, which a client starts in the same way, and judges the goals: the time from the
start to the list and to the first row, memory, CPU of a call, and what it costs to propose capabilities from a URL instead of
reading them from a file. Every measurement is a new process; the order is drawn in each round. Wants a quiet machine with Linux;
the peers are installed the first time. Some ten minutes.

  --rounds N    rounds; ratios are taken within each, and their median is shown with an interval that holds the true one in
                95 of 100 runs (default 20; fewer than 6 have no interval)
  --seed N      draws the order of the measurements (default: another each time)
  --json        print the results as JSON, instead of the tables

A measurement is void if processes that have no part in it took over 5 % of the machine meanwhile; it is made again, at most
three times. Ends with 0 when no goal is missed, though some may be open: their bound lies within the interval; 1 when one is
missed or something failed; 2 for wrong usage or a missing program; 3 when the machine is not quiet.
`;

/** Resolves to the exit code: those of the usage, 130 after a signal. */
export async function main(args: readonly string[]): Promise<number> {
  const seed = 1 + Math.floor(Math.random() * 999_999);
  const options = readOptions(USAGE, args, { rounds: [20, 1000], seed: [seed, 999_999] });
  if (typeof options === 'number') return options;
  if (process.platform !== 'linux') {
    say('cannot measure: CPU time is read from /proc of Linux');
    return 2;
  }
  const order = { rounds: options.number('rounds'), seed: options.number('seed') };
  return untilStopped((releasers) => run(order, options.json, releasers));
}

interface Order {
  readonly rounds: number;
  readonly seed: number;
}

async function run(order: Order, asJson: boolean, releasers: Releasers): Promise<number> {
  await installPeers();
  const noToolbox = whyNoToolbox();
  if (noToolbox !== undefined) {
    say(`cannot compare: ${noToolbox}`);
    return 2;
  }
  const document = await measureAll(order, releasers);
  process.stdout.write(asJson ? `${JSON.stringify(document)}\n` : report(document));
  const notQuiet = whyManyVoid(document.measured, order.rounds);
  if (notQuiet !== undefined) {
    say(notQuiet);
    return 3;
  }
  return document.goals.some(({ verdict }) => verdict === 'missed') ? 1 : 0;
}

interface Document {
  readonly machine: Machine;
  readonly run: Order & { readonly version: string };
  readonly contestants: readonly Pick<StdioContestant, 'name' | 'title' | 'settings'>[];
  readonly sizes: Sizes;
  readonly goals: readonly (Goal & Judged)[];
  readonly measured: readonly MeasuredStdio[];
}

async function measureAll(order: Order, releasers: Releasers): Promise<Document> {
  say('making the package for npm');
  const { node, sizes } = await prepare();
  say('starting PostgreSQL');
  const postgres = await startBooks(releasers);
  await postgres.createDatabase(TABLES_DATABASE);
  await postgres.execute(TABLES_DATABASE, TABLES_SQL);
  const contestants = await stdioContestants(postgres, node, releasers);
  say('checking that all answer the same');
  await checkRows(contestants);
  say(`${order.rounds} rounds, in an order drawn with seed ${order.seed}`);
  const measured = await measureStdio(contestants, postgres, order, say);
  const postgresVersion = /PostgreSQL (\d+[.\d]*)/.exec(postgres.output())?.[1] ?? 'unknown';
  return {
    machine: await machine(node.version, postgresVersion),
    run: { ...order, version: await version() },
    contestants: contestants.map(({ name, title, settings }) => ({ name, title, settings })),
    sizes,
    goals: judgeStdio(measured, sizes),
    measured,
  };
}

function report({
  machine: { date, cores, cpu, node, postgres },
  run,
  contestants,
  measured,
  goals,
}: Document): string {
  const slots = measured.flatMap((each) => each.slots);
  const facts = [
    `svc ${run.version}, measured on ${date}: ${cores} cores (${cpu})`,
    `Node.js ${node}, PostgreSQL ${postgres}`,
    `${run.rounds} rounds in an order drawn with seed ${run.seed}`,
    `${slots.length} slots, of which ${slots.length - validSlots({ slots }).length} were void`,
    `${CALLS} calls, ${AT_ONCE} at once`,
  ];
  const settings = contestants.map(({ title, settings }) => `- ${title}: ${code(settings)}`);
  return [`${facts.join('. ')}.`, settings.join('\n'), figures(measured), `${goalsTable(goals)}\n`].join(
    '\n\n',
  );
}

function figures(measured: readonly MeasuredStdio[]): string {
  const head = [
    '',
    'list ms',
    'rows ms',
    'at rest MB',
    'processes',
    'after calls MB',
    'CPU us',
    'database us',
    'calls/s',
  ];
  const rows = measured.map((each) => {
    const cell = (of: (slot: StdioSlot) => number): string => fixed(medianOf(each, of), 0);
    return [
      each.title,
      cell(({ listMs }) => listMs),
      cell(({ rowsMs }) => rowsMs),
      cell(({ restMegabytes }) => restMegabytes),
      cell(({ processes }) => processes),
      cell(({ afterMegabytes }) => afterMegabytes),
      cell(({ cpuMicroseconds }) => cpuMicroseconds),
      cell(({ databaseMicroseconds }) => databaseMicroseconds),
      cell(({ callsPerSecond }) => callsPerSecond),
    ];
  });
  return table(head, rows);
}
