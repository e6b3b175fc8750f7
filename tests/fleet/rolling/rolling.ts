import { parseArgs } from 'node:util';
import { createReleasers, findProgram, startHaproxy, startPostgres, type Haproxy } from '@svc/testkit';
import { stopRequest } from '../../../examples/start-stop-request.ts';
import { readOrUsage, wholeNumber } from '../../trust/read-or-usage.ts';
import { HAPROXY_FILE } from '../balancer-files.testing.ts';
import { startFleet, until, type Fleet } from '../fleet.testing.ts';
import { LOAD_SQL, startOpenLoad, type LoadReport } from '../open-load.testing.ts';

const USAGE = `Usage: npm run test:rolling [-- --calls N --per-second N] [--quick]

Restarts three gateways behind HAProxy with two agents, one after the other and over and over, while point queries come at
a fixed rate, whatever becomes of the answers (default 120000 at 1000 a second). Each answer is compared with the row that
it must hold. Ends with 1 when a call fails. --quick shortens what the gateways and HAProxy wait for to a tenth.
`;

const DATABASE = 'rolling';
const REPLICAS = 3;
const AGENTS = 2;
/** As chart, compose file and units set them. */
const USUAL = { delayMs: 10_000, readyAfterMs: 15_000, checkEveryMs: 2000 };
const QUICK = { delayMs: 1000, readyAfterMs: 1500, checkEveryMs: 200 };
const UP_WITHIN_MS = 60_000;

/** Resolves to the exit code. */
export async function main(args: readonly string[]): Promise<number> {
  const read = readOrUsage(USAGE, () => {
    const { values } = parseArgs({
      args: [...args],
      options: {
        calls: { type: 'string', default: '120000' },
        'per-second': { type: 'string', default: '1000' },
        quick: { type: 'boolean', default: false },
        help: { type: 'boolean', default: false },
      },
    });
    if (values.help) return undefined;
    return {
      calls: wholeNumber('calls', values.calls, 120_000),
      perSecond: wholeNumber('per-second', values['per-second'], 5000),
      times: values.quick ? QUICK : USUAL,
    };
  });
  if (typeof read === 'number') return read;
  if (findProgram('haproxy') === undefined) {
    process.stderr.write('SKIPPED: the rolling restart, which needs haproxy: apt-get install haproxy\n');
    return 0;
  }
  const stop = stopRequest();
  const releasers = createReleasers();
  const work = restartUnderLoad(read, (release) => releasers.add(release));
  try {
    const report = await Promise.race([work, stop.requested]);
    if (typeof report === 'string') {
      work.catch(() => {});
      return 130;
    }
    process.stdout.write(`${described(report)}\n`);
    return report.right === report.sent && report.restarts >= REPLICAS ? 0 : 1;
  } finally {
    await releasers.closeAll();
    stop.close();
  }
}

interface RollingReport extends LoadReport {
  readonly restarts: number;
  readonly seconds: number;
}

async function restartUnderLoad(
  options: { readonly calls: number; readonly perSecond: number; readonly times: typeof USUAL },
  release: (release: () => Promise<unknown>) => Promise<void>,
): Promise<RollingReport> {
  const { calls, perSecond, times } = options;
  const postgres = await startPostgres();
  await release(() => postgres.stop());
  await postgres.createDatabase(DATABASE);
  await postgres.execute(DATABASE, LOAD_SQL);
  const fleet = await startFleet({
    database: { ...postgres, name: DATABASE },
    replicas: REPLICAS,
    agents: AGENTS,
    gatewayEnv: {
      GATEWAY_SHUTDOWN_DELAY: `${times.delayMs}ms`,
      GATEWAY_READY_AFTER: `${times.readyAfterMs}ms`,
      GATEWAY_AGENT_WAIT: '1s',
      // Records of requests are not what is tried, and all processes share the machine.
      GATEWAY_LOG_LEVEL: 'warn',
    },
  });
  await release(() => fleet.stop());
  await fleet.ready(UP_WITHIN_MS);
  const haproxy = await startHaproxy({
    targets: fleet.replicas,
    configuration: HAPROXY_FILE,
    checkEveryMs: times.checkEveryMs,
  });
  await release(() => haproxy.stop());
  const startedAt = performance.now();
  const load = startOpenLoad({ port: haproxy.port, apiKey: fleet.apiKey, perSecond, calls });
  await release(() => load.stop());
  let over = false;
  void load.done.then(() => (over = true));
  let restarts = 0;
  for (let index = 0; !over; index = (index + 1) % REPLICAS) {
    await restart(fleet, haproxy, index);
    // One that was not over in time proves nothing.
    if (load.report().sent < calls) restarts += 1;
  }
  return { ...(await load.done), restarts, seconds: (performance.now() - startedAt) / 1000 };
}

async function restart({ replicas }: Fleet, haproxy: Haproxy, index: number): Promise<void> {
  const replica = replicas[index];
  if (replica === undefined) throw new Error(`no replica ${index}`);
  const { code, signal } = await replica.end();
  if (code !== 0)
    throw new Error(`replica ${index} ended with ${code ?? signal}\n${replica.process.output()}`);
  // HAProxy has to have seen it go, or it would take the next one for this one.
  await until(() => !haproxy.isUp(index), UP_WITHIN_MS);
  await replica.start();
  await until(
    () => haproxy.isUp(index),
    UP_WITHIN_MS,
    () => replica.process.output(),
  );
}

function described(report: RollingReport): string {
  const { sent, right, failures, begun, late, p50, p99, slowest, restarts, seconds } = report;
  const failed = sent - right;
  return [
    `${sent} calls in ${seconds.toFixed(0)} s, ${restarts} restarts of ${REPLICAS} replicas: ${failed} failed`,
    ...Object.entries(failures).map(([what, count]) => `  ${count} x ${what}`),
    ...(begun > 0 ? [`  ${begun} x cut off within the answer`] : []),
    `from when they were due: p50 ${p50} ms, p99 ${p99} ms, slowest ${slowest} ms; ${late} left over 50 ms late`,
  ].join('\n');
}
