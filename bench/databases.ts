import { execFileSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import {
  createReleasers,
  executeMysql,
  findMysqlServers,
  startMysql,
  temporaryFolder,
  type MysqlProgram,
  type Releasers,
} from '@svc/testkit';
import { table } from '../scripts/docs/markdown.ts';
import { casesOf, checkAnswers } from './compare-cases.ts';
import { FIGURES, findCase, medianOf, ratioOf } from './compare-figures.ts';
import { measure } from './compare-measure.ts';
import type { Workload } from './contestants/workloads.ts';
import type { Contestant } from './contestants/contestant.ts';
import { installPeers } from './contestants/install-peers.ts';
import { nodeExecutable, OWN_NODE } from './contestants/node-executable.ts';
import { startSvc } from './contestants/svc.ts';
import { startToolbox, whyNoToolbox } from './contestants/toolbox.ts';
import type { Root } from './load/process-tree.ts';
import { whyNoLoad } from './load/wrk.ts';
import { readOptions, say } from './report/options.ts';

const USAGE = `Usage: npm run bench:databases [-- --rounds N --seconds S] [--json]

A call on MariaDB, MySQL and SQLite, beside MCP Toolbox on the same database: throughput, and CPU of all processes but the
server of the database. All run in N rounds (default 10) of S seconds (default 3), in an order that is drawn, and again when
other programs disturb; ratios are taken within each round.
MCP Toolbox is called directly, this service by its gateway. A database that is not there is left out by name: the servers are
those that \`npm run test:mysql\` has unpacked, SQLite needs the Node.js that \`npm run test:sqlite\` has. Linux only; needs wrk.

Ends with 1 when a goal is missed, 2 for wrong usage.
`;

const BOOKS = 1000;

const WORKLOADS = (['point', 'list'] as const).map((query): Workload => ({
  name: query,
  title: query,
  query,
  kind: 'rest',
  connections: 64,
  contestants: ['svc', 'toolbox'],
}));

/** What is wanted of ours, as many times that of MCP Toolbox. */
const GOALS: Readonly<Record<string, { readonly throughput: number; readonly cpu?: number }>> = {
  point: { throughput: 1, cpu: 1.5 },
  list: { throughput: 1.5 },
};

interface Engine {
  readonly name: string;
  readonly contestants: readonly Contestant[];
  readonly server: Root | undefined;
}

interface Figure {
  readonly engine: string;
  readonly query: string;
  readonly callsPerSecond: number;
  readonly microseconds: number;
  readonly throughput: number;
  readonly cpu: number;
  readonly isMissed: boolean;
}

export async function main(args: readonly string[]): Promise<number> {
  const options = readOptions(USAGE, args, { rounds: [10, 1000], seconds: [3, 600] });
  if (typeof options === 'number') return options;
  const unable = whyNoLoad();
  if (unable === undefined) await installPeers();
  const missing = unable ?? whyNoToolbox();
  if (missing !== undefined) {
    say(missing);
    return 2;
  }
  const rounds = { rounds: options.number('rounds'), seconds: options.number('seconds'), seed: 1 };
  const figures: Figure[] = [];
  for (const start of starts()) {
    const releasers = createReleasers();
    try {
      figures.push(...(await compare(await start(releasers), rounds)));
    } finally {
      await releasers.closeAll();
    }
  }
  const columns = ['database', 'query', 'calls a second', 'CPU a call', 'x throughput', 'x CPU', 'goal'];
  const lines = figures.map(({ engine, query, callsPerSecond, microseconds, throughput, cpu, isMissed }) => [
    engine,
    query,
    callsPerSecond.toFixed(0),
    `${microseconds.toFixed(0)} us`,
    throughput.toFixed(2),
    cpu.toFixed(2),
    isMissed ? 'missed' : 'reached',
  ]);
  process.stdout.write(`${options.json ? JSON.stringify({ figures }) : table(columns, lines)}\n`);
  return figures.some(({ isMissed }) => isMissed) ? 1 : 0;
}

async function compare(
  { name: engine, contestants, server }: Engine,
  rounds: Parameters<typeof measure>[2],
): Promise<readonly Figure[]> {
  await checkAnswers(contestants);
  const cases = WORKLOADS.flatMap((workload) => casesOf(workload, contestants));
  const measured = await measure(cases, server, rounds, (line) => say(`${engine}: ${line}`));
  return Object.entries(GOALS).map(([query, goal]) => {
    const [ours, theirs] = (['svc', 'toolbox'] as const).map((name) =>
      findCase(measured, { workload: query, face: 'REST' }, name),
    );
    const [throughput, cpu] = (['throughput', 'cpu'] as const).map((figure) => ratioOf(figure, ours, theirs));
    if (ours === undefined || throughput === undefined || cpu === undefined) {
      throw new Error(`the machine is not quiet: no round of ${query} counts`);
    }
    return {
      engine,
      query,
      callsPerSecond: medianOf(ours, FIGURES.throughput.of),
      microseconds: medianOf(ours, FIGURES.cpu.of),
      throughput: throughput.median,
      cpu: cpu.median,
      isMissed: throughput.median < goal.throughput || cpu.median > (goal.cpu ?? Number.POSITIVE_INFINITY),
    };
  });
}

/** Those whose server or Node.js has been downloaded. */
function starts(): readonly ((releasers: Releasers) => Promise<Engine>)[] {
  const servers = findMysqlServers();
  const all: ((releasers: Releasers) => Promise<Engine>)[] = [];
  for (const kind of ['mysql', 'mariadb']) {
    const program = servers.findLast((each) => each.kind === kind);
    if (program === undefined) say(`left out: ${kind}; run npm run test:mysql first`);
    else all.push((releasers) => startMysqlEngine(program, releasers));
  }
  const node = nodeWithSqlite();
  if (node === undefined) say('left out: sqlite; run npm run test:sqlite first');
  else all.push((releasers) => startSqlite(node, releasers));
  return all;
}

const ROWS = Array.from({ length: BOOKS }, (_, index) => {
  const id = index + 1;
  const added = new Date(Date.UTC(2024, 0, 1) + id * 37 * 60_000).toISOString();
  const text = added.slice(0, 19).replace('T', ' ');
  return `(${id}, 'Book ${id} of the long shelf', 'Author ${id % 97}', ${id / 4}, '${text}')`;
}).join(', ');

async function startMysqlEngine(program: MysqlProgram, releasers: Releasers): Promise<Engine> {
  const server = await startMysql(program);
  await releasers.add(() => server.stop());
  const { host, port } = server.address;
  const password = 'reader-password';
  await executeMysql(
    server.address,
    `create database bench; use bench;
    create table book (id int primary key, title varchar(100) not null, author varchar(100) not null,
      price decimal(8,2) not null, added_at datetime not null);
    insert into book values ${ROWS};
    create user 'reader'@'%' identified by '${password}'; grant select, show view on bench.* to 'reader'@'%'`,
  );
  const account = { host, user: 'reader', password };
  const database = { ...account, driver: program.kind, port, name: 'bench', sslmode: 'disable' } as const;
  const queryParams = { interpolateParams: 'true' };
  const settings = { ...account, port: String(port), database: 'bench', queryParams };
  return {
    name: program.name,
    contestants: [
      await startSvc({ name: 'svc', title: 'svc' }, database, OWN_NODE, releasers),
      await startToolbox({ type: 'mysql', settings }, releasers),
    ],
    server: server.process,
  };
}

async function startSqlite(node: string, releasers: Releasers): Promise<Engine> {
  const folder = await temporaryFolder('bench-sqlite');
  await releasers.add(() => folder.remove());
  const file = join(folder.path, 'books.db');
  const sql = `create table book (id integer primary key, title text not null, author text not null, price real not null,
    added_at text not null); insert into book values ${ROWS}`;
  const program = `new (require('node:sqlite').DatabaseSync)(${JSON.stringify(file)}).exec(require('node:fs').readFileSync(0, 'utf8'))`;
  execFileSync(node, ['--no-warnings', '-e', program], { input: sql });
  return {
    name: 'sqlite',
    contestants: [
      await startSvc(
        { name: 'svc', title: 'svc' },
        { driver: 'sqlite', file },
        nodeExecutable(node),
        releasers,
      ),
      await startToolbox({ type: 'sqlite', settings: { database: file } }, releasers),
    ],
    server: undefined,
  };
}

/** Undefined where none has been downloaded. */
function nodeWithSqlite(): string | undefined {
  if (Number(OWN_NODE.version.split('.')[0]) >= 24) return OWN_NODE.path;
  const folder = fileURLToPath(new URL('../.cache/sqlite-nodes/22', import.meta.url));
  try {
    const names = readdirSync(folder, { recursive: true, encoding: 'utf8' });
    const name = names.find((each) => each.endsWith('bin/node'));
    return name === undefined ? undefined : join(folder, name);
  } catch {
    return undefined;
  }
}
