import type { OwnCode } from '@svc/edge';
import type { AgentConfig } from '../config/model.ts';
import type { DatabaseChange } from '../databases/driver.ts';
import { driverOf } from '../databases/drivers.ts';
import { UNNAMED } from '../capabilities/database-names.ts';
import { closeUnless, type OpenedDatabase, type OpenedDatabases } from '../databases/opened.ts';
import type { Observe } from '../telemetry/events.ts';
import { openWorkerDatabase, type WorkerEnded } from '../workers/worker-database.ts';

/** The code of a worker's process, a text in this executable, so that one file is all there is to install. */
declare const SVC_WORKER: string;

export function workerCode(): OwnCode {
  return { command: 'internal-worker', text: SVC_WORKER };
}

/** What runs the calls of all databases of the file. */
export async function openDatabases(config: AgentConfig, observe: Observe): Promise<OpenedDatabases> {
  const opened = new Map<string, OpenedDatabase>();
  return closeUnless(opened, async () => {
    for (const name of Object.keys(config.databases))
      opened.set(name, await openDatabase(config, name, observe));
    return opened;
  });
}

/** What runs the calls of one: this process, or workers. */
export async function openDatabase(
  { databases, runtime }: AgentConfig,
  name: string,
  observe: Observe,
): Promise<OpenedDatabase> {
  const config = databases[name];
  if (config === undefined) throw new Error(`the file has no database ${name}`);
  const { workers } = runtime;
  const which = name === UNNAMED ? {} : { database: name };
  const onChange = (change: DatabaseChange): void => {
    if (change.isUp) observe({ event: 'database_back', ...which, away_ms: change.awayMs });
    else observe({ event: 'database_lost', ...which, reason: change.advice, detail: change.detail });
  };
  if (workers === 1) return { database: driverOf(config.driver).connect(config, onChange) };
  const onWorkerEnded = ({ worker, code, signal, restartInMs, detail }: WorkerEnded): void => {
    observe({
      event: 'worker_ended',
      ...which,
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
