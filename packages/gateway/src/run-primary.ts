import cluster from 'node:cluster';
import { randomBytes, randomUUID } from 'node:crypto';
import { errorText, firstSignal } from '@svc/edge';
import type { GatewayConfig } from './config/model.ts';
import type { Log } from './telemetry/log.ts';
import { forwardLines } from './workers/forward-lines.ts';
import { createPrimaryChannel } from './workers/primary-channel.ts';
import { createSupervisor } from './workers/supervisor.ts';
import { WORKER_NUMBER } from './workers/worker-number.ts';

export interface PrimaryOptions {
  readonly config: GatewayConfig;
  readonly replicaId: string;
  readonly version: string;
  readonly log: Log;
  /** Of the process, when what it was started for has failed. */
  readonly exitFailure: number;
}

/** How long the workers may take to say how many requests they have. */
const COUNT_MS = 500;

/** The process that starts the workers of a replica, and does what there is to do once for all of them. */
export async function runPrimary({ config, replicaId, version, log, exitFailure }: PrimaryOptions): Promise<void> {
  const { observe } = log;
  const sessionSecret = randomBytes(32);
  const channel = createPrimaryChannel();
  channel.answer('start', (worker) => {
    if (worker.version !== version)
      throw new Error('the executable is not the one that the primary runs; restart the service');
    return { config, replicaId, sessionSecret, workers: config.workers };
  });
  cluster.schedulingPolicy = cluster.SCHED_RR;
  cluster.setupPrimary({ args: [], serialization: 'advanced', stdio: ['ignore', 'pipe', 'pipe', 'ipc'] });
  const supervisor = createSupervisor({
    workers: config.workers,
    channel,
    observe,
    now: () => performance.now(),
    fork: (worker) => cluster.fork({ [WORKER_NUMBER]: String(worker) }).process,
    onOutput({ stdout, stderr }) {
      if (stdout !== null) forwardLines(stdout, log.lines.forward, log.lines.whenSpace);
      if (stderr !== null)
        forwardLines(
          stderr,
          (lines) => process.stderr.write(lines),
          (listener) => process.stderr.once('drain', listener),
        );
    },
  });
  let signalled = false;
  // A second signal, or a start that has failed. What ends this process by force, the workers see by themselves.
  process.on('exit', () => signalled && supervisor.kill());
  void firstSignal(exitFailure, ['SIGHUP']).then(async (signal) => {
    signalled = true;
    await shutDown(signal);
    await log.close();
    process.exit();
  });

  async function shutDown(signal: string): Promise<void> {
    const counts = new Map<number, number>();
    let told = (): void => {
      told = () => {};
      clearTimeout(timer);
      const inFlight = [...counts.values()].reduce((sum, count) => sum + count, 0);
      observe({ event: 'shutting_down', signal, in_flight: inFlight });
    };
    const timer = setTimeout(() => told(), COUNT_MS);
    channel.on('draining', ({ in_flight: count }, worker) => {
      counts.set(worker, count);
      if (counts.size === config.workers) told();
    });
    await supervisor.shutDown(signal);
    told();
  }

  try {
    observe({ event: 'listening', ...(await supervisor.start()) });
  } catch (error) {
    process.stderr.write(`svc-gateway: cannot start: ${errorText(error)}\n`);
    supervisor.kill();
    await log.close();
    process.exit(exitFailure);
  }
}
