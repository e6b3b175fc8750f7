import { execFileSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import {
  createReleasers,
  executeMysql,
  findMysqlServers,
  startMysql,
  startService,
  temporaryFolder,
  type Releasers,
  type RunningProcess,
  type ServiceOptions,
} from '@svc/testkit';
import { readOrUsage, wholeNumber } from '../tests/trust/read-or-usage.ts';
import { normalisedRow, QUERIES, type Query } from './contestants/books.ts';
import type { Face } from './contestants/contestant.ts';
import { installPeers } from './contestants/install-peers.ts';
import { nodeExecutable, OWN_NODE, pathWith } from './contestants/node-executable.ts';
import { restFace } from './contestants/rest-face.ts';
import { capability } from './contestants/svc.ts';
import {
  startToolboxServer,
  toolboxFaces,
  whyNoToolbox,
  type ToolboxSource,
} from './contestants/toolbox-server.ts';
import { treeMicroseconds } from './load/process-tree.ts';
import { load, whyNoLoad, type Load } from './load/wrk.ts';
import { median, spreadOfRatios } from './report/statistics.ts';
import { table } from './report/table.ts';

const USAGE = `Usage: npm run bench:databases [-- --rounds N --seconds S] [--json]

A call on MariaDB, MySQL and SQLite, beside MCP Toolbox on the same database: throughput, and CPU of all processes but the
server of the database. All run in turn, in N rounds (default 10) of S seconds (default 3); ratios are taken within each round.
MCP Toolbox is called directly, this service by its gateway. A database that is not there is left out by name: the servers are
those that \`npm run test:mysql\` has unpacked, SQLite needs the Node.js that \`npm run test:sqlite\` has. Linux only; needs wrk.

Ends with 1 when a goal is missed, 2 for wrong usage.
`;

const CONNECTIONS = 64;
const WARM_UP_SECONDS = 5;
const BOOKS = 1000;
const BODIES = 500;

/** What is wanted of ours, as many times that of MCP Toolbox. */
const GOALS: Readonly<Record<Query, { readonly throughput: number; readonly cpu?: number }>> = {
  point: { throughput: 1, cpu: 1.5 },
  list: { throughput: 1.5 },
};

interface Contestant {
  readonly url: string;
  readonly face: Face;
  readonly processes: readonly RunningProcess[];
}

interface Engine {
  readonly name: string;
  readonly svc: Contestant;
  readonly toolbox: Contestant;
}

interface Figure {
  readonly engine: string;
  readonly query: Query;
  readonly callsPerSecond: number;
  readonly microseconds: number;
  readonly throughput: number;
  readonly cpu: number;
  readonly isMissed: boolean;
}

/** Resolves to the exit code. */
export async function main(args: readonly string[]): Promise<number> {
  const options = {
    rounds: { type: 'string', default: '10' },
    seconds: { type: 'string', default: '3' },
    json: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  } as const;
  const read = readOrUsage(USAGE, () => {
    const { values } = parseArgs({ args: [...args], options });
    if (values.help) return undefined;
    return {
      rounds: wholeNumber('rounds', values.rounds, 1000),
      seconds: wholeNumber('seconds', values.seconds, 600),
      json: values.json,
    };
  });
  if (typeof read === 'number') return read;
  const tell = (line: string): unknown => process.stderr.write(`${line}\n`);
  const unable = whyNoLoad();
  if (unable === undefined) await installPeers(tell);
  const missing = unable ?? whyNoToolbox();
  if (missing !== undefined) {
    tell(missing);
    return 2;
  }
  const figures = await measure(read.rounds, read.seconds);
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
  const titled = columns.map((title, at) => ({ title, right: at > 1 && at < 6 }));
  process.stdout.write(read.json ? `${JSON.stringify({ figures })}\n` : table(titled, lines));
  return figures.some(({ isMissed }) => isMissed) ? 1 : 0;
}

async function measure(rounds: number, seconds: number): Promise<readonly Figure[]> {
  const figures: Figure[] = [];
  for (const start of starts()) {
    const releasers = createReleasers();
    try {
      const engine = await start(releasers);
      for (const query of ['point', 'list'] as const) {
        process.stderr.write(`${engine.name}, ${query}\n`);
        figures.push(await compare(engine, query, rounds, seconds));
      }
    } finally {
      await releasers.closeAll();
    }
  }
  return figures;
}

async function compare(
  { name, svc, toolbox }: Engine,
  query: Query,
  rounds: number,
  seconds: number,
): Promise<Figure> {
  await sameRows(svc, toolbox, query);
  const taken = new Map<Contestant, { readonly rates: number[]; readonly costs: number[] }>();
  for (const contestant of [svc, toolbox]) {
    taken.set(contestant, { rates: [], costs: [] });
    await load(callsOf(contestant, query), WARM_UP_SECONDS);
  }
  for (let round = 0; round < rounds; round += 1) {
    for (const contestant of round % 2 === 0 ? [svc, toolbox] : [toolbox, svc]) {
      const before = await cpuOf(contestant);
      const { calls, seconds: taking } = await load(callsOf(contestant, query), seconds);
      const { rates = [], costs = [] } = taken.get(contestant) ?? {};
      rates.push(calls / taking);
      costs.push(((await cpuOf(contestant)) - before) / calls);
    }
  }
  const [ours, theirs] = [taken.get(svc), taken.get(toolbox)];
  const throughput = spreadOfRatios(ours?.rates ?? [], theirs?.rates ?? [])?.median ?? Number.NaN;
  const cpu = spreadOfRatios(ours?.costs ?? [], theirs?.costs ?? [])?.median ?? Number.NaN;
  const goal = GOALS[query];
  return {
    engine: name,
    query,
    callsPerSecond: median(ours?.rates ?? []),
    microseconds: median(ours?.costs ?? []),
    throughput,
    cpu,
    isMissed: throughput < goal.throughput || cpu > (goal.cpu ?? Number.POSITIVE_INFINITY),
  };
}

/** Both must give the same rows, or one has less to do. */
async function sameRows(svc: Contestant, toolbox: Contestant, query: Query): Promise<void> {
  const [ours, theirs] = await Promise.all(
    [svc, toolbox].map(async ({ url, face }) => {
      const response = await fetch(url + face.path(query), {
        method: 'POST',
        headers: face.headers(query),
        body: face.body(query, 7),
      });
      const answer = await response.text();
      try {
        return face.rows?.(answer).map(normalisedRow) ?? [];
      } catch {
        throw new Error(`cannot compare: ${response.status} ${answer.slice(0, 500)}`);
      }
    }),
  );
  if (JSON.stringify(ours) !== JSON.stringify(theirs) || ours?.length === 0) {
    throw new Error(`cannot compare: the rows differ\n${ours?.[0]}\n${theirs?.[0]}`);
  }
}

function callsOf({ url, face }: Contestant, query: Query): Load {
  const { most } = QUERIES[query];
  const bodies = Array.from({ length: BODIES }, () => face.body(query, 1 + Math.floor(Math.random() * most)));
  return { url, path: face.path(query), headers: face.headers(query), bodies, connections: CONNECTIONS };
}

async function cpuOf({ processes }: Contestant): Promise<number> {
  const each = await Promise.all(processes.map(treeMicroseconds));
  return each.reduce((sum, value) => sum + value, 0);
}

function starts(): readonly ((releasers: Releasers) => Promise<Engine>)[] {
  const servers = findMysqlServers();
  const kinds = ['mysql', 'mariadb'].flatMap((kind) => {
    const program = servers.findLast((each) => each.kind === kind);
    if (program === undefined) process.stderr.write(`left out: ${kind}; run npm run test:mysql first\n`);
    return program === undefined ? [] : [(releasers: Releasers) => startMysqlEngine(program, releasers)];
  });
  const node = nodeWithSqlite();
  if (node === undefined) process.stderr.write('left out: sqlite; run npm run test:sqlite first\n');
  return [...kinds, ...(node === undefined ? [] : [(releasers: Releasers) => startSqlite(node, releasers)])];
}

const ROWS = Array.from({ length: BOOKS }, (_, index) => {
  const id = index + 1;
  const added = new Date(Date.UTC(2024, 0, 1) + id * 37 * 60_000).toISOString();
  const text = added.slice(0, 19).replace('T', ' ');
  return `(${id}, 'Book ${id} of the long shelf', 'Author ${id % 97}', ${id / 4}, '${text}')`;
}).join(', ');

async function startMysqlEngine(
  program: ReturnType<typeof findMysqlServers>[number],
  releasers: Releasers,
): Promise<Engine> {
  const server = await startMysql(program);
  await releasers.add(() => server.stop());
  const { address } = server;
  const password = 'reader-password';
  await executeMysql(
    address,
    `create database bench; use bench;
    create table book (id int primary key, title varchar(100) not null, author varchar(100) not null,
      price decimal(8,2) not null, added_at datetime not null);
    insert into book values ${ROWS};
    create user 'reader'@'%' identified by '${password}'; grant select, show view on bench.* to 'reader'@'%'`,
  );
  const { host, port } = address;
  return {
    name: program.name,
    svc: await startSvc(
      { driver: program.kind, host, port, name: 'bench', user: 'reader', password, sslmode: 'disable' },
      {},
      releasers,
    ),
    toolbox: await startPeer(
      {
        yaml: `kind: source
name: books
type: mysql
host: ${host}
port: "${port}"
database: bench
user: reader
password: ${password}
queryParams:
  interpolateParams: "true"
`,
        tools: 'mysql-sql',
        placeholder: '?',
      },
      releasers,
    ),
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
  const { PATH, folder: link } = await pathWith(nodeExecutable(node));
  await releasers.add(() => link.remove());
  return {
    name: 'sqlite',
    svc: await startSvc({ driver: 'sqlite', file }, { PATH }, releasers),
    toolbox: await startPeer(
      {
        yaml: `kind: source
name: books
type: sqlite
database: ${file}
`,
        tools: 'sqlite-sql',
        placeholder: '?',
      },
      releasers,
    ),
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

async function startSvc(
  database: ServiceOptions['database'],
  env: Readonly<Record<string, string>>,
  releasers: Releasers,
): Promise<Contestant> {
  const service = await startService({
    database,
    capabilities: `capabilities:\n${Object.values(QUERIES).map(capability).join('')}`,
    gatewayEnv: { ...env, GATEWAY_RATE_LIMIT_REQUESTS_PER_SECOND: '1000000' },
    agentEnv: env,
  });
  await releasers.add(() => service.stop());
  const headers = { authorization: `Bearer ${service.apiKeys['all'] ?? ''}` };
  const face = restFace(
    (name) => `/api/v1/capabilities/${name}`,
    headers,
    (answer) => {
      const { rows }: { rows: readonly unknown[] } = JSON.parse(answer);
      return rows;
    },
  );
  return { url: service.url, face, processes: [service.gateway, ...service.agents] };
}

async function startPeer(source: ToolboxSource, releasers: Releasers): Promise<Contestant> {
  const toolbox = await startToolboxServer(source);
  await releasers.add(() => toolbox.stop());
  const { url, server } = toolbox;
  const [face] = toolboxFaces({});
  if (face === undefined) throw new Error('MCP Toolbox has no face');
  return { url, face, processes: [server] };
}
