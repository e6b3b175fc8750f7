import { UNNAMED } from '../capabilities/database-names.ts';
import type { DatabaseConfig } from '../databases/driver/driver.ts';
import { driverOf } from '../databases/drivers.ts';
import { askChildProcess } from '../start-up/child-process.ts';
import { databaseFault, DatabaseError, type VerificationFault } from '../databases/driver/errors.ts';
import type { ArrivalOrder, ArrivalReport, UnverifiedDatabase, VerifiedAgent } from '../start-up/report.ts';
import type { Observe } from '../telemetry/events.ts';
import { textsOf, unexpected } from './fault-texts.ts';
import type { Found } from './found-records.ts';
import { keepSharing, type KeepSharing } from './keep-sharing.ts';
import { createReloader, type Reloader, type ReloaderOptions, type Swapped } from './reloader.ts';

export interface AwaitDatabasesOptions {
  readonly serving: () => VerifiedAgent;
  /** As in `ReloaderOptions`. */
  readonly swap: (verified: VerifiedAgent) => Promise<unknown>;
  readonly between: Reloader['between'];
  readonly connect: (config: DatabaseConfig) => ProbedDatabase;
  readonly verify: (order: ArrivalOrder, signal: AbortSignal) => Promise<ArrivalReport>;
  /** Told what was found about a database that has been verified. */
  readonly onFound: (found: Found) => void;
  readonly observe: Observe;
  readonly random: () => number;
}

interface ProbedDatabase {
  ping(): Promise<void>;
  close(): Promise<void>;
}

export interface AwaitDatabases {
  /** To be called when something else is served: its databases that are away are looked for from then on. */
  served(): void;
  close(): void;
}

/** The longest pause before the first attempt, and after many failures. */
const FIRST_PAUSE_MS = 2000;
const LAST_PAUSE_MS = 60_000;

/**
 * Looks for the databases that could not be used when the file was loaded, after pauses of 1 to 60 s: each is a random time
 * within the later half of a pause that doubles. A database that can be used again is verified in a process of its own, as
 * at the start, and its capabilities are served. If it does not pass, it is refused until the file is loaded again.
 */
export function awaitDatabases(options: AwaitDatabasesOptions): AwaitDatabases {
  const { serving, observe } = options;
  /** Since when databases are missing, by name; they have been reported. */
  const missing = new Map<string, number>();
  const probed = new Set<ProbedDatabase>();
  let failures = 0;
  let timer: NodeJS.Timeout | undefined;
  let closed = false;

  function tellOfChanges(): void {
    const { unverified, config } = serving();
    for (const { name, state, faults } of unverified) {
      if (missing.has(name)) continue;
      missing.set(name, performance.now());
      if (state === 'away') observe(awayEvent(name, faults));
    }
    for (const [name, since] of missing) {
      if (unverified.some((each) => each.name === name)) continue;
      missing.delete(name);
      if (config.databases[name] === undefined) continue;
      observe({ event: 'database_back', database: name, away_ms: Math.round(performance.now() - since) });
    }
  }

  function lookLater(): void {
    clearTimeout(timer);
    if (closed || namesAway().length === 0) return;
    const pauseMs = Math.min(LAST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** failures);
    timer = setTimeout(() => void look().then(lookLater), (pauseMs / 2) * (1 + options.random()));
  }

  function namesAway(): readonly string[] {
    return serving().unverified.flatMap(({ name, state }) => (state === 'away' ? [name] : []));
  }

  async function look(): Promise<void> {
    failures++;
    const answers = await Promise.all(namesAway().map(async (name) => ((await isThere(name)) ? [name] : [])));
    const arrived = answers.flat();
    if (arrived.length > 0 && !closed) await options.between((signal) => take(arrived, signal));
  }

  async function isThere(name: string): Promise<boolean> {
    const config = serving().config.databases[name];
    if (config === undefined) return false;
    let database: ProbedDatabase | undefined;
    try {
      database = options.connect(config);
      probed.add(database);
      await database.ping();
      return true;
    } catch {
      // The next attempt may succeed. Other errors are reported by the checks after a success.
      return false;
    } finally {
      if (database !== undefined) {
        probed.delete(database);
        await database.close();
      }
    }
  }

  /** Serves databases that answered; a reload may have ended since. */
  async function take(found: readonly string[], signal: AbortSignal): Promise<void> {
    const before = serving();
    const { config, narrowed } = before;
    const arrived = found.filter((name) => namesAway().includes(name));
    if (arrived.length === 0) return;
    let report: ArrivalReport;
    try {
      report = await options.verify({ arrived, served: { config, narrowed } }, signal);
    } catch (error) {
      // The process of the checks has ended, for example without memory: the next one may pass.
      if (!signal.aborted) for (const name of arrived) observe(awayEvent(name, [unexpected(error)]));
      return;
    }
    if (signal.aborted) return;
    try {
      await options.swap(withArrived(before, report));
    } catch (error) {
      const faults = [error instanceof DatabaseError ? databaseFault(error) : unexpected(error)];
      for (const name of arrived) observe(awayEvent(name, faults));
      return;
    }
    for (const each of report.databases) {
      if (each.state === 'verified') {
        failures = 0;
        options.onFound(each);
      } else if (each.state === 'refused') {
        observe({ event: 'database_refused', database: each.name, ...textsOf(each.faults) });
      }
    }
    tellOfChanges();
  }

  tellOfChanges();
  lookLater();
  return {
    served() {
      failures = 0;
      tellOfChanges();
      lookLater();
    },
    close() {
      closed = true;
      clearTimeout(timer);
      for (const database of probed) void database.close();
    },
  };
}

/** What of a running agent is needed to have it serve something else. */
interface Reloadable {
  readonly verified: VerifiedAgent;
  readonly observe: Observe;
  swap(verified: VerifiedAgent, ended: ReadonlySet<string>): Promise<Swapped>;
  whenSharingEnds(listener: (capability: string) => void): void;
}

interface Reloading extends Pick<Reloader, 'reload' | 'close'> {
  readonly sharing: Pick<KeepSharing, 'begin' | 'take'>;
}

/**
 * Serves what the files hold when it is asked to, databases that were away once they answer, and what is judged again to
 * share transactions or not.
 */
export function createReloading({
  agent,
  check,
  onFound,
}: { readonly agent: Reloadable } & Pick<ReloaderOptions, 'check'> &
  Pick<AwaitDatabasesOptions, 'onFound'>): Reloading {
  const { observe } = agent;
  const swap = (verified: VerifiedAgent): Promise<Swapped> => agent.swap(verified, sharing.ended);
  const reloader = createReloader({
    check,
    serving: () => agent.verified.config,
    async swap(verified) {
      const swapped = await swap(verified);
      awaiting.served();
      sharing.served();
      return swapped;
    },
    observe,
  });
  const awaiting = awaitDatabases({
    serving: () => agent.verified,
    async swap(verified) {
      await swap(verified);
      sharing.served();
    },
    between: (work) => reloader.between(work),
    connect: (config) => driverOf(config.driver).connect(config, () => {}),
    verify: askChildProcess,
    onFound,
    observe,
    random: Math.random,
  });
  const sharing = keepSharing({
    serving: () => agent.verified,
    swap,
    between: (work) => reloader.between(work),
    verify: askChildProcess,
    observe,
  });
  agent.whenSharingEnds((capability) => sharing.end(capability));
  return {
    sharing,
    reload: (trigger) => reloader.reload(trigger),
    close() {
      awaiting.close();
      sharing.close();
      reloader.close();
    },
  };
}

function awayEvent(database: string, faults: readonly VerificationFault[]): Parameters<Observe>[0] {
  const { message, detail = '' } = textsOf(faults);
  return { event: 'database_away', database, reason: message, detail };
}

function withArrived(
  before: VerifiedAgent,
  { databases, capabilities, narrowed, description }: ArrivalReport,
): VerifiedAgent {
  const verified = databases.flatMap((each) => (each.state === 'verified' ? [each] : []));
  const names = new Set(verified.map(({ name }) => name));
  const replaced = new Set(
    capabilities.flatMap(({ name, database = UNNAMED }) => (names.has(database) ? [name] : [])),
  );
  const states = new Map(
    databases.flatMap((each): [string, UnverifiedDatabase][] =>
      each.state === 'verified' ? [] : [[each.name, each]],
    ),
  );
  return {
    config: { ...before.config, capabilities },
    narrowed,
    prepared: [
      ...before.prepared.filter(({ capability }) => !replaced.has(capability)),
      ...verified.flatMap(({ prepared }) => prepared),
    ],
    description,
    unverified: before.unverified.flatMap((each) =>
      names.has(each.name) ? [] : [states.get(each.name) ?? each],
    ),
  };
}
