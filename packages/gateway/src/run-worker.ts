import cluster from 'node:cluster';
import { errorText, startThread } from '@svc/edge';
import { createVerifier } from './auth/api-keys/verifier.ts';
import { startGateway } from './gateway.ts';
import { followReplicaCount } from './cluster/replicas/shared-replica-count.ts';
import type { GatewayEvent } from './telemetry/events.ts';
import { createLog, type Log } from './telemetry/log.ts';
import type { WorkerChannel } from './cluster/channel.ts';
import { ipcWire } from './cluster/wire.ts';
import { createWorkerChannel } from './cluster/worker/worker-channel.ts';

export interface WorkerOptions {
  readonly worker: number;
  readonly version: string;
  /** The code of a verifying thread. */
  readonly helper: string;
  /** The pages of the console, as the build embeds them. */
  readonly consoleAssets: string;
  readonly destination: number;
  readonly exitFailure: number;
}

const ALIVE_MS = 1000;
/** A process whose parent is gone has ended by then, whatever it waits for. */
export const ABANDONED_MS = 3500;
const PRIMARY_LOST = 'the primary ended';

/** One of the serving processes of a replica. */
export async function runWorker({
  worker,
  version,
  helper,
  consoleAssets,
  destination,
  exitFailure,
}: WorkerOptions): Promise<void> {
  // Otherwise Node.js ends the process when its primary is gone, and every call with it.
  if (cluster.worker !== undefined) cluster.worker.exitedAfterDisconnect = true;
  const channel = createWorkerChannel(ipcWire(process));
  setInterval(() => channel.tell('alive', undefined), ALIVE_MS).unref();
  channel.tell('alive', undefined);
  let log: Log | undefined;
  try {
    const order = await channel.ask('start', { version });
    const { config, replicaId, sessionSecret, workers, ageMs } = order;
    log = createLog({
      level: config.logLevel,
      probes: config.logProbes,
      destination,
      standardError: process.stderr,
      fields: { replica_id: replicaId, worker },
    });
    const { observe } = log;
    const close = async (): Promise<void> => log?.close();
    process.on('uncaughtException', (error) => {
      observe({ event: 'internal_error', request_id: '', message: error.stack ?? error.message });
      void close().finally(() => process.exit(exitFailure));
    });
    let stop: (signal: string, abandoned?: 'abandoned') => void = () => process.exit();
    channel.on('shut_down', ({ signal }) => stop(signal));
    channel.onLost(() => {
      setTimeout(() => process.exit(exitFailure), ABANDONED_MS);
      stop(PRIMARY_LOST, 'abandoned');
    });
    const gateway = await startGateway(config, {
      log: withPrimary(channel, log),
      verifier: createVerifier({ spawn: () => startThread(helper) }),
      replica: {
        id: replicaId,
        worker,
        workers,
        ageMs,
        sessionSecret,
        channel,
        replicaCount: followReplicaCount(channel, config.replicas),
      },
      version,
      consoleAssets,
    });
    stop = (signal, abandoned) => {
      stop = () => {};
      void gateway.shutDown(signal, abandoned).then(async () => {
        await close();
        process.exit();
      });
    };
  } catch (error) {
    channel.tell('cannot_start', { reason: errorText(error) });
    await log?.close();
    // The primary says it; what is told has to leave before the process ends.
    if (process.connected) process.disconnect();
    process.exitCode = exitFailure;
  }
}

/** What there is one record of for the whole replica, its primary writes. */
function withPrimary(channel: WorkerChannel, log: Log): Pick<Log, 'observe' | 'recordsLost'> {
  return {
    observe(event) {
      if (!tellPrimary(channel, event)) log.observe(event);
    },
    get recordsLost() {
      return log.recordsLost;
    },
  };
}

/** Whether the primary writes it. */
function tellPrimary(channel: WorkerChannel, event: GatewayEvent): boolean {
  switch (event.event) {
    case 'listening': {
      const { url, address, port } = event;
      channel.tell('listening', { url, address, port });
      return true;
    }
    case 'shutting_down':
      channel.tell('draining', { in_flight: event.in_flight });
      return true;
    case 'descriptions_differ':
      channel.tell('seen_by_all', event);
      return true;
    default:
      return false;
  }
}
