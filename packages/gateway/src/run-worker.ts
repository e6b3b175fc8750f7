import cluster from 'node:cluster';
import { errorText, startThread } from '@svc/edge';
import { createVerifier } from './auth/api-keys/verifier.ts';
import { startGateway, type Executable } from './gateway.ts';
import { followReplicaCount } from './cluster/replica-count.ts';
import type { GatewayEvent } from './telemetry/events.ts';
import { createLog, endAtUncaughtErrors, type Log } from './telemetry/log.ts';
import { ipcWire, type WorkerChannel } from './cluster/channel.ts';
import { createWorkerChannel } from './cluster/worker/worker-channel.ts';

const ALIVE_MS = 1000;
/** After this time a process whose parent is gone ends, whatever it waits for. */
export const ABANDONED_MS = 3500;
const PRIMARY_LOST = 'the primary ended';

/** One of the serving processes of a replica. */
export async function runWorker(worker: number, executable: Executable): Promise<void> {
  const { version, helper, exitFailure } = executable;
  // Otherwise Node.js would end the process, and its calls, as soon as the primary is gone.
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
      standardError: process.stderr,
      fields: { replica_id: replicaId, worker },
    });
    const own = log;
    endAtUncaughtErrors(own, exitFailure);
    let stop: (signal: string, abandoned?: 'abandoned') => void = () => process.exit();
    channel.on('shut_down', ({ signal }) => stop(signal));
    channel.onLost(() => {
      setTimeout(() => process.exit(exitFailure), ABANDONED_MS);
      stop(PRIMARY_LOST, 'abandoned');
    });
    const gateway = await startGateway(config, {
      log: withPrimary(channel, own),
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
      executable,
    });
    stop = (signal, abandoned) => {
      stop = () => {};
      void gateway.shutDown(signal, abandoned).then(async () => {
        await own.close();
        process.exit();
      });
    };
  } catch (error) {
    channel.tell('cannot_start', { reason: errorText(error) });
    await log?.close();
    // The primary writes the message, which must leave this process before it ends.
    if (process.connected) process.disconnect();
    process.exitCode = exitFailure;
  }
}

/** A log whose primary writes the events that have one record for the whole replica. */
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

/** Whether the primary writes the record of this event. */
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
