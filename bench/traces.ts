import { once } from 'node:events';
import { createServer } from 'node:http';
import { parseArgs } from 'node:util';
import {
  createReleasers,
  runProcess,
  startPostgres,
  SVC_GATEWAY,
  type Releasers,
  type Service,
} from '@svc/testkit';
import { readOrUsage, wholeNumber } from '../tests/trust/read-or-usage.ts';
import { treeMicroseconds } from './load/process-tree.ts';
import { load, whyNoLoad } from './load/wrk.ts';
import { median, spreadOfRatios } from './report/statistics.ts';
import { table } from './report/table.ts';
import {
  callsOf,
  DATABASE,
  pointBodies,
  pointNames,
  pointQueries,
  SQL,
  startLibrary,
} from './scale/library.ts';

const USAGE = `Usage: npm run bench:traces [-- --rounds N --seconds S] [--json]

What traces and the console add to the CPU of gateway and agent for a point call, beside the same service without either, and
what that differs from itself. All run in turn, in N rounds (default 40) of S seconds (default 1), each round begun by another;
ratios are taken within each round. It takes seven minutes and a quiet machine. Linux only; needs wrk.

Ends with 1 when a goal is missed, 2 for wrong usage.
`;

const CONNECTIONS = 32;
const WARM_UP_SECONDS = 20;
const [POINT = ''] = pointNames(1);

interface Contestant {
  readonly name: string;
  readonly service: Service;
  /** How many times the CPU without it. */
  readonly goal: number | undefined;
  readonly microseconds: number[];
}

/** Resolves to the exit code. */
export async function main(args: readonly string[]): Promise<number> {
  const options = {
    rounds: { type: 'string', default: '40' },
    seconds: { type: 'string', default: '1' },
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
  const missing = whyNoLoad();
  if (missing !== undefined) {
    process.stderr.write(`${missing}\n`);
    return 2;
  }
  const figures = await measure(read.rounds, read.seconds);
  const columns = [
    { title: 'what' },
    { title: 'CPU a call', right: true },
    { title: 'times off', right: true },
    { title: 'goal', right: true },
  ];
  const lines = figures.map(({ name, microseconds, ratio, goal }) => [
    name,
    `${microseconds.toFixed(1)} us`,
    ratio.toFixed(3),
    goal === undefined ? '' : goal.toFixed(2),
  ]);
  process.stdout.write(read.json ? `${JSON.stringify({ figures })}\n` : table(columns, lines));
  return figures.every(({ ratio, goal = Number.POSITIVE_INFINITY }) => ratio <= goal) ? 0 : 1;
}

async function measure(rounds: number, seconds: number) {
  const releasers = createReleasers();
  try {
    const contestants = await start(releasers);
    const calls = ({ service }: Contestant) => callsOf(service, POINT, pointBodies(), CONNECTIONS);
    for (const contestant of contestants) await load(calls(contestant), WARM_UP_SECONDS);
    for (let round = 0; round < rounds; round++) {
      process.stderr.write(`round ${round + 1} of ${rounds}\n`);
      // Whoever comes behind a dearer one finds a warmer processor: each has every place.
      const first = round % contestants.length;
      for (const contestant of [...contestants.slice(first), ...contestants.slice(0, first)]) {
        const before = await cpuOf(contestant.service);
        const { calls: count } = await load(calls(contestant), seconds);
        contestant.microseconds.push(((await cpuOf(contestant.service)) - before) / count);
      }
    }
    const base = contestants[0]?.microseconds ?? [];
    return contestants.map(({ name, goal, microseconds }) => ({
      name,
      goal,
      microseconds: median(microseconds),
      ratio: spreadOfRatios(microseconds, base)?.median ?? Number.NaN,
    }));
  } finally {
    await releasers.closeAll();
  }
}

async function start(releasers: Releasers): Promise<readonly Contestant[]> {
  const postgres = await startPostgres();
  await releasers.add(() => postgres.stop());
  await postgres.createDatabase(DATABASE);
  await postgres.execute(DATABASE, SQL);
  const otel = { OTEL_EXPORTER_OTLP_ENDPOINT: await startSink(releasers) };
  const add = async (
    name: string,
    goal: number | undefined,
    gatewayEnv: Readonly<Record<string, string>> = {},
    agent: { readonly sections?: string; readonly agentEnv?: Readonly<Record<string, string>> } = {},
  ): Promise<Contestant> => {
    const service = await startLibrary({ postgres, releasers }, pointQueries([POINT]), {
      gatewayEnv,
      ...agent,
    });
    return { name, goal, service, microseconds: [] };
  };
  const traced = { sections: 'telemetry: { traces: otlp }\n', agentEnv: otel };
  const contestants = [
    await add('off', undefined),
    await add('off again', undefined),
    await add('traces, a tenth recorded', 1.03, { GATEWAY_TRACES: 'otlp', ...otel }, traced),
    await add(
      'traces, all recorded',
      undefined,
      { GATEWAY_TRACES: 'otlp', ...otel, OTEL_TRACES_SAMPLER: 'always_on' },
      traced,
    ),
  ];
  const token = await consoleToken();
  if (token === undefined) return contestants;
  const env = { GATEWAY_CONSOLE_ADDR: '127.0.0.1:0', GATEWAY_CONSOLE_TOKEN_SHA256: token };
  return [...contestants, await add('console', 1.01, env)];
}

/** Takes spans and forgets them. */
async function startSink(releasers: Releasers): Promise<string> {
  const server = createServer((request, response) => {
    request.resume().once('end', () => response.end());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  await releasers.add(
    () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  );
  const address = server.address();
  return `http://127.0.0.1:${typeof address === 'object' && address !== null ? address.port : 0}`;
}

/** The digest of one; undefined of a gateway without a console. */
async function consoleToken(): Promise<string | undefined> {
  const { code, stdout } = await runProcess(SVC_GATEWAY, ['create-console-token', '--json']);
  if (code !== 0) return undefined;
  const { console_token_sha256: digest }: { console_token_sha256: string } = JSON.parse(stdout);
  return digest;
}

async function cpuOf({ gateway, agents }: Service): Promise<number> {
  const each = await Promise.all([gateway, ...agents].map(treeMicroseconds));
  return each.reduce((sum, value) => sum + value, 0);
}
