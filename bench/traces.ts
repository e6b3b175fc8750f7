import { createServer } from 'node:http';
import { listenOnLoopback, runProcess, SVC_GATEWAY, type Releasers } from '@svc/testkit';
import { pointCalls, pointQueries, startLibrary } from './scale/library.ts';
import { measureInTurn, type Contestant } from './scale/measured.ts';
import { measureRows } from './scale/program.ts';
import { atMost, figure, type Measurement, type Scale } from './scale/row.ts';

const USAGE = `Usage: npm run bench:traces [-- --rounds N --seconds S] [--node PATH] [--json]

What traces and the console add to the CPU of gateway and agent for a point call, beside the same service without either, and
what that differs from itself. All run in turn, in N rounds (default 40) of S seconds (default 1), each round begun by another;
ratios are taken within each round. It takes seven minutes and a quiet machine. Linux only; needs wrk.

Ends with 1 when a goal is missed, 2 for wrong usage.
`;

const CONNECTIONS = 32;
const WARM_UP_SECONDS = 20;

interface Traced extends Contestant {
  /** How many times the CPU without it. */
  readonly goal: number | undefined;
}

export function main(args: readonly string[]): Promise<number> {
  const row = { name: 'traces', title: 'Traces and console', measure };
  return measureRows(args, { usage: USAGE, rows: [row], usual: { rounds: 40, seconds: 1 } });
}

async function measure(scale: Scale): Promise<Measurement> {
  const contestants = await start(scale);
  const column = await measureInTurn(scale, contestants);
  return {
    figures: contestants.map(({ name, goal }) =>
      figure('CPU of a call', name, 'us', column(name, 'cpu'), {
        base: column('off', 'cpu'),
        goal: goal === undefined ? undefined : atMost('ratio', goal),
      }),
    ),
    notes: [],
  };
}

async function start(scale: Scale): Promise<readonly Traced[]> {
  const otel = { OTEL_EXPORTER_OTLP_ENDPOINT: await startSink(scale.releasers) };
  const add = async (
    name: string,
    goal: number | undefined,
    gatewayEnv: Readonly<Record<string, string>> = {},
    agent: Parameters<typeof startLibrary>[2] = {},
  ): Promise<Traced> => {
    const service = await startLibrary(scale, pointQueries(1), { gatewayEnv, ...agent });
    const loads = [pointCalls(service, CONNECTIONS)];
    return { name, goal, service, loads, warmUpSeconds: WARM_UP_SECONDS };
  };
  const traced = { sections: 'telemetry: { traces: otlp }\n', agentEnv: otel };
  const tenth = { GATEWAY_TRACES: 'otlp', ...otel };
  const all = { ...tenth, OTEL_TRACES_SAMPLER: 'always_on' };
  const contestants = [
    await add('off', undefined),
    await add('off again', undefined),
    await add('traces, a tenth recorded', 1.03, tenth, traced),
    await add('traces, all recorded', undefined, all, traced),
  ];
  const token = await consoleToken();
  if (token === undefined) return contestants;
  const env = { GATEWAY_CONSOLE_ADDR: '127.0.0.1:0', GATEWAY_CONSOLE_TOKEN_SHA256: token };
  return [...contestants, await add('console', 1.01, env)];
}

async function startSink(releasers: Releasers): Promise<string> {
  const server = createServer((request, response) => {
    request.resume().once('end', () => response.end());
  });
  const port = await listenOnLoopback(server);
  await releasers.add(
    () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  );
  return `http://127.0.0.1:${port}`;
}

/** The digest of one; undefined of a gateway without a console. */
async function consoleToken(): Promise<string | undefined> {
  const { code, stdout } = await runProcess(SVC_GATEWAY, ['create-console-token', '--json']);
  if (code !== 0) return undefined;
  const { console_token_sha256: digest }: { console_token_sha256: string } = JSON.parse(stdout);
  return digest;
}
