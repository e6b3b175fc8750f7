import type { MetricsRegister, OwnCode, ProxyVariables } from '@svc/edge';
import type { AgentConfig } from '../config/model.ts';
import type { DatabaseChange, SharingEnded } from '../databases/driver/driver.ts';
import { driverOf } from '../databases/drivers.ts';
import { UNNAMED } from '../capabilities/database-names.ts';
import { databaseFault } from '../databases/driver/errors.ts';
import { closeUnless, NOT_VERIFIED, pingEach, type OpenedDatabase } from '../databases/opened.ts';
import type { VerifiedAgent } from '../start-up/report.ts';
import { startAgent, type AgentParts, type RunningAgent } from '../runtime/agent.ts';
import type { OpenLinks } from '../runtime/open-links.ts';
import type { Observe } from '../telemetry/events.ts';
import type { Log } from '../telemetry/log.ts';
import { openWorkerDatabase, type WorkerEnded } from '../workers/worker-database.ts';

/** The code of a worker's process, a text in this executable, so that one file is all there is to install. */
declare const SVC_WORKER: string;

export function workerCode(): OwnCode {
  return { command: 'internal-worker', text: SVC_WORKER };
}

/** An agent whose databases answer, and which has yet to dial its gateways. */
export interface OpenedAgent {
  readonly config: AgentConfig;
  /** To be called once. Rejects, with the databases closed, as `startAgent`. */
  start(): Promise<RunningAgent>;
}

export interface AgentSurroundings {
  readonly version: string;
  readonly env: ProxyVariables;
  readonly log: Log;
  /** As in `AgentParts`, like `register`. */
  readonly openLinks: OpenLinks;
  readonly register?: MetricsRegister | undefined;
}

/**
 * Opens connections of this process to the databases that the process of the checks has verified. Throws `DatabaseError`
 * if no database answers, or if one does not and the file requires all.
 */
export async function openAgent(
  checked: VerifiedAgent,
  { version, env, log, openLinks, register }: AgentSurroundings,
): Promise<OpenedAgent> {
  let onDatabaseChange = (): void => {};
  const observeDatabase: Observe = (event) => {
    log.observe(event);
    onDatabaseChange();
  };
  const sharing = createSharingEnds();
  const { verified, opened } = await openVerified(checked, observeDatabase, sharing.tell);
  return {
    config: verified.config,
    start: () =>
      closeUnless(opened, async () => {
        const agent = await startAgent(
          {
            verified,
            opened,
            version,
            proxyVariables: env,
            openDatabase: (changed, name) => openDatabase(changed, name, observeDatabase, sharing.tell),
            whenSharingEnds: (listener) => sharing.listen(listener),
            openLinks,
            register,
          },
          log,
        );
        onDatabaseChange = () => agent.databasesChanged();
        return agent;
      }),
  };
}

type TellSharingEnded = (capability: string) => void;

/** Keeps what is told before something listens. */
function createSharingEnds(): {
  readonly tell: TellSharingEnded;
  readonly listen: (listener: TellSharingEnded) => void;
} {
  const early = new Set<string>();
  let listener: TellSharingEnded = (capability) => void early.add(capability);
  return {
    tell: (capability) => listener(capability),
    listen(next) {
      listener = next;
      for (const capability of early) next(capability);
    },
  };
}

/** Proves that the databases still answer: without these connections the first caller would wait. */
async function openVerified(
  verified: VerifiedAgent,
  observe: Observe,
  onSharingEnded: TellSharingEnded,
): Promise<Pick<AgentParts, 'verified' | 'opened'>> {
  const { config } = verified;
  const unverified = new Set(verified.unverified.map(({ name }) => name));
  const opened = new Map<string, OpenedDatabase>();
  return closeUnless(opened, async () => {
    for (const name of Object.keys(config.databases)) {
      const isVerified = !unverified.has(name);
      opened.set(name, isVerified ? await openDatabase(config, name, observe, onSharingEnded) : NOT_VERIFIED);
    }
    const lost = await pingEach(opened);
    const [first] = lost.values();
    if (first === undefined) return { verified, opened };
    if (config.runtime.requireAllDatabases || unverified.size + lost.size === opened.size) throw first;
    for (const name of lost.keys()) {
      await opened.get(name)?.database.close();
      opened.set(name, NOT_VERIFIED);
    }
    return { verified: withoutLost(verified, lost), opened };
  });
}

/** The same as if the lost databases had been away when the others were verified. */
function withoutLost(verified: VerifiedAgent, lost: ReadonlyMap<string, unknown>): VerifiedAgent {
  const names = new Set(
    verified.config.capabilities.flatMap(({ name, database = UNNAMED }) =>
      lost.has(database) ? [name] : [],
    ),
  );
  return {
    ...verified,
    prepared: verified.prepared.filter(({ capability }) => !names.has(capability)),
    unverified: [
      ...verified.unverified,
      ...Array.from(lost, ([name, error]) => ({
        name,
        state: 'away' as const,
        faults: [databaseFault(error)],
      })),
    ],
  };
}

/** What runs the calls of a database: this process, or workers. */
async function openDatabase(
  { databases, runtime }: AgentConfig,
  name: string,
  observe: Observe,
  onSharingEnded: TellSharingEnded,
): Promise<OpenedDatabase> {
  const config = databases[name];
  if (config === undefined) throw new Error(`the file has no database ${name}`);
  const { workers } = runtime;
  const which = name === UNNAMED ? {} : { database: name };
  const onChange = (change: DatabaseChange | SharingEnded): void => {
    if ('sharingEnded' in change) onSharingEnded(change.sharingEnded);
    else if (change.isUp) observe({ event: 'database_back', ...which, away_ms: change.awayMs });
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
