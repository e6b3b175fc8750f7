import type { OwnCode } from '@svc/edge';
import type { AgentConfig } from '../config/model.ts';
import type { DatabaseChange } from '../databases/driver.ts';
import { driverOf } from '../databases/drivers.ts';
import type { OpenedDatabase } from '../reload/serving.ts';
import type { Observe } from '../telemetry/events.ts';
import { openWorkerDatabase, type WorkerEnded } from '../workers/worker-database.ts';

/** The code of a worker's process, a text in this executable, so that one file is all there is to install. */
declare const SVC_WORKER: string;

export function workerCode(): OwnCode {
  return { command: 'internal-worker', text: SVC_WORKER };
}

/** What runs the calls: this process, or workers. */
export async function openDatabase(
  { database: config, runtime }: AgentConfig,
  observe: Observe,
): Promise<OpenedDatabase> {
  const { workers } = runtime;
  const onChange = (change: DatabaseChange): void => {
    if (change.isUp) observe({ event: 'database_back', away_ms: change.awayMs });
    else observe({ event: 'database_lost', reason: change.advice, detail: change.detail });
  };
  if (workers === 1) return { database: driverOf(config.driver).connect(config, onChange) };
  const onWorkerEnded = ({ worker, code, signal, restartInMs, detail }: WorkerEnded): void => {
    observe({
      event: 'worker_ended',
      worker,
      ...(code === null ? {} : { code }),
      ...(signal === null ? {} : { signal }),
      restart_in_ms: restartInMs,
      detail,
    });
  };
  const database = await openWorkerDatabase({ code: workerCode(), workers, config, onChange, onWorkerEnded });
  return { database, workerRestarts: () => database.restarts };
}
