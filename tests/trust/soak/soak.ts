import { randomInt } from 'node:crypto';
import { parseArgs } from 'node:util';
import {
  COST_AS_CREATED,
  createReleasers,
  freePort,
  startFaultProxy,
  startPostgres,
  startService,
  createRandom,
  pick,
  temporaryFolder,
  type FaultProxy,
  type Releasers,
} from '@svc/testkit';
import { stopRequest } from '../../../examples/start-stop-request.ts';
import { agentMetricsPort, metricsPortOf } from '../../requirements/metrics-ports.testing.ts';
import { readOrUsage, wholeNumber } from '../read-or-usage.ts';
import { CAPABILITIES, KEYS, LATEST_MS, SQL } from './calls.ts';
import { DATABASE, DATABASE_SETTINGS, FAULTS, GATEWAY_FAULTS, type Fault, type Scene } from './faults.ts';
import { sampleProcess, type Sample } from './figures.ts';
import { startMixedLoad, type MixedLoad } from './load.ts';
import { isFlat, report } from './report.ts';

const USAGE = `Usage: npm run soak [-- --minutes N] [--seed N] [--callers N] [--json]

Runs gateway, two agents and PostgreSQL under mixed load for N minutes (default 60) while something breaks every few
seconds, as the seed has it. Each answer is judged by its request; after each fault all must be well again. Prints
the figures, and ends with 1 when an answer was wrong, late or missing, or something did not recover or grew.
Linux only, since it reads /proc.
`;

/** How long until all is well after a fault: reconnecting waits up to some seconds, a silent connection its time. */
const RECOVER_MS = 30_000;
const VIOLATIONS_SHOWN = 20;
/** From then on a line through the samples says something. */
const JUDGED_FROM_MINUTES = 30;

interface Options {
  readonly minutes: number;
  readonly seed: number;
  readonly callers: number;
  readonly json: boolean;
}

/** Resolves to the exit code: 0, 1 when something was wrong, 2 for wrong usage, 130 after a signal. */
export async function main(args: readonly string[]): Promise<number> {
  const options = readOptions(args);
  if (typeof options === 'number') return options;
  const stop = stopRequest();
  const releasers = createReleasers();
  try {
    return await run(options, releasers, stop.signal);
  } finally {
    await releasers.closeAll();
    stop.close();
  }
}

/** The exit code for help and wrong usage. */
function readOptions(args: readonly string[]): Options | 0 | 2 {
  const options = {
    minutes: { type: 'string', default: '60' },
    seed: { type: 'string', default: String(randomInt(2 ** 31)) },
    callers: { type: 'string', default: '20' },
    json: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  } as const;
  return readOrUsage(USAGE, () => {
    const { values } = parseArgs({ args: [...args], options });
    if (values.help) return undefined;
    return {
      minutes: wholeNumber('minutes', values.minutes, 1440),
      seed: wholeNumber('seed', values.seed, 2 ** 32),
      callers: wholeNumber('callers', values.callers, 500),
      json: values.json,
    };
  });
}

async function run(options: Options, releasers: Releasers, signal: AbortSignal): Promise<number> {
  const { minutes, seed, callers, json } = options;
  progress(`Seed ${seed}, ${minutes} minutes`);
  const scene = await startScene(releasers);
  const violations: string[] = [];
  const violation = (what: string): void => {
    if (violations.push(what) <= VIOLATIONS_SHOWN) progress(`WRONG: ${what}`);
  };
  const load = startMixedLoad({ service: scene.service, callers, random: createRandom(seed), violation });
  await releasers.add(() => load.stop());
  if (!(await load.settled(RECOVER_MS))) violation('the service did not begin to answer rightly');
  const startedAt = performance.now();
  const faults = new Map<string, number>();
  const samples = { gateway: new Array<Sample>(), agent: new Array<Sample>() };
  const random = createRandom(seed + 1);
  const share = (): number => (performance.now() - startedAt) / (minutes * 60_000);

  // A gateway that is ended has no memory to be watched, so that is done first.
  for (const fault of GATEWAY_FAULTS) await breakOne(fault, scene, load, faults, violation);
  const ports = {
    gateway: await metricsPortOf(scene.service.gateway),
    agent: await agentMetricsPort(scene.service),
  };
  let minute = -1;
  while (share() < 1 && !signal.aborted) {
    await breakOne(pick(random, FAULTS), scene, load, faults, violation);
    const atMs = performance.now() - startedAt;
    if (Math.floor(atMs / 60_000) === minute) continue;
    minute = Math.floor(atMs / 60_000);
    const [gateway, agent] = [scene.service.gateway.pid, scene.service.agents[0]?.pid ?? 0];
    samples.gateway.push(await sampleProcess(gateway, ports.gateway, atMs));
    samples.agent.push(await sampleProcess(agent, ports.agent, atMs));
    progress(
      `${minute} of ${minutes} min, ${load.calls} calls, ${total(faults)} faults, ${violations.length} wrong`,
    );
  }
  if (signal.aborted) return 130;
  await load.stop();
  if (load.underWay > 0) violation(`${load.underWay} calls without an answer`);
  const seconds = (performance.now() - startedAt) / 1000;
  const grown =
    minutes < JUDGED_FROM_MINUTES ? [] : Object.entries(samples).filter(([, each]) => !isFlat(each));
  for (const [name] of grown) violation(`the ${name} grew: see its slopes`);
  report({ seed, seconds, load, faults, samples, violations, latestMs: LATEST_MS }, json);
  return violations.length === 0 ? 0 : 1;
}

async function startScene(releasers: Releasers): Promise<Scene> {
  const folder = await temporaryFolder('soak');
  await releasers.add(() => folder.remove());
  const scene: { postgres: Scene['postgres'] } = {
    postgres: await startPostgres({ folder: folder.path, settings: DATABASE_SETTINGS }),
  };
  await releasers.add(() => scene.postgres.stop());
  await scene.postgres.createDatabase(DATABASE);
  await scene.postgres.execute(DATABASE, SQL);
  const { user, password } = scene.postgres;
  const proxy = async (target: { host: string; port: number }): Promise<FaultProxy> => {
    const started = await startFaultProxy({ target });
    await releasers.add(() => started.close());
    return started;
  };
  const databaseNetwork = await proxy(scene.postgres);
  const port = await freePort();
  const linkNetwork = await proxy({ host: '127.0.0.1', port });
  const service = await startService({
    keyCost: COST_AS_CREATED,
    database: { host: databaseNetwork.host, port: databaseNetwork.port, name: DATABASE, user, password },
    capabilities: CAPABILITIES,
    keys: { some: KEYS.some },
    linkPort: linkNetwork.port,
    agents: 2,
    gatewayEnv: {
      GATEWAY_ADDR: `127.0.0.1:${port}`,
      GATEWAY_METRICS_ADDR: '127.0.0.1:0',
      GATEWAY_RATE_LIMIT_REQUESTS_PER_SECOND: '100000',
    },
  });
  await releasers.add(() => service.stop());
  return Object.assign(scene, { service, databaseNetwork, linkNetwork, folder: folder.path });
}

async function breakOne(
  fault: Fault,
  scene: Scene,
  load: MixedLoad,
  faults: Map<string, number>,
  violation: (what: string) => void,
): Promise<void> {
  faults.set(fault.name, (faults.get(fault.name) ?? 0) + 1);
  load.expectFailures(true);
  await fault.run(scene);
  const well = await load.settled(RECOVER_MS);
  load.expectFailures(false);
  if (!well) violation(`not well ${RECOVER_MS / 1000} s after: ${fault.name}`);
}

function total(counts: ReadonlyMap<string, number>): number {
  return [...counts.values()].reduce((sum, each) => sum + each, 0);
}

function progress(line: string): void {
  process.stderr.write(`${line}\n`);
}
