import { isDeepStrictEqual } from 'node:util';
import { UNNAMED } from '../capabilities/database-names.ts';
import type { Fault } from '../capabilities/fault.ts';
import type { SetChanges } from '../calls/served-set.ts';
import type { AgentConfig } from '../config/model.ts';
import { databaseFault, DatabaseError, type VerificationFault } from '../databases/driver/errors.ts';
import type { VerifiedAgent } from '../start-up/report.ts';
import type { Observe, ReloadedEvent, ReloadRefusedEvent, ReloadTrigger } from '../telemetry/events.ts';
import { textsOf, unexpected } from './fault-texts.ts';

/** The outcome of the checks for the present files. */
export type Checked =
  | { readonly faults: readonly VerificationFault[] }
  | { readonly verified: VerifiedAgent };

/** What has changed when the agent serves another file. */
export interface Swapped extends SetChanges {
  readonly databaseChanged: boolean;
  readonly linksReplaced: number;
  readonly linksWaiting: number;
}

export interface ReloaderOptions {
  /** Runs all checks of a start. Aborting makes it end soon. */
  readonly check: (signal: AbortSignal) => Promise<Checked>;
  readonly serving: () => AgentConfig;
  /** Serves this from now on. If a database cannot be used, throws `DatabaseError` and serves the same as before. */
  readonly swap: (verified: VerifiedAgent) => Promise<Swapped>;
  readonly observe: Observe;
}

/** Undefined: the agent ends. */
type ReloadEnd =
  | { readonly event: ReloadedEvent }
  | { readonly event: ReloadRefusedEvent; readonly faults: readonly VerificationFault[] }
  | undefined;

export interface Reloader {
  /** Resolves when what the files hold now, or something newer, is served or refused. Never rejects. */
  reload(trigger: ReloadTrigger): Promise<ReloadEnd>;
  /** Runs `work` while no reload is under way, and never once closed. Aborting makes it end soon. */
  between(work: (signal: AbortSignal) => Promise<void>): Promise<void>;
  /** Ends the check that is under way and begins no other. */
  close(): void;
}

/**
 * Reloads the files, all or nothing, one reload after the other. Changes during a check cause one more check, however many
 * they are, so that nothing older ever replaces something newer.
 */
export function createReloader(options: ReloaderOptions): Reloader {
  const closing = new AbortController();
  let last: Promise<unknown> = Promise.resolve();
  let next: Promise<ReloadEnd> | undefined;

  function afterOthers<T>(work: () => Promise<T>): Promise<T> {
    const done = last.then(work);
    last = done.catch(() => {});
    return done;
  }

  async function run(trigger: ReloadTrigger): Promise<ReloadEnd> {
    if (closing.signal.aborted) return undefined;
    const startedAt = performance.now();
    const end = await attempt(trigger, () => Math.round(performance.now() - startedAt));
    if (end !== undefined) options.observe(end.event);
    return end;
  }

  async function attempt(trigger: ReloadTrigger, durationMs: () => number): Promise<ReloadEnd> {
    const { signal } = closing;
    const refused = (faults: readonly VerificationFault[]): ReloadEnd => ({
      event: { event: 'reload_refused', trigger, ...textsOf(faults), duration_ms: durationMs() },
      faults,
    });
    try {
      const checked = await options.check(signal);
      if (signal.aborted) return undefined;
      if ('faults' in checked) return refused(checked.faults);
      const { verified } = checked;
      const unreloadable = restartFaults(options.serving(), verified.config);
      if (unreloadable.length > 0) return refused(unreloadable);
      const { added, changed, removed, ...swapped } = await options.swap(verified);
      return {
        event: {
          event: 'reloaded',
          trigger,
          capabilities: verified.config.capabilities.length,
          ...namesOf({ added, changed, removed }),
          database_changed: swapped.databaseChanged,
          links_replaced: swapped.linksReplaced,
          links_waiting: swapped.linksWaiting,
          duration_ms: durationMs(),
        },
      };
    } catch (error) {
      if (signal.aborted) return undefined;
      return refused([error instanceof DatabaseError ? databaseFault(error) : unexpected(error)]);
    }
  }

  return {
    reload(trigger) {
      if (next !== undefined) return next;
      next = afterOthers(() => {
        next = undefined;
        return run(trigger);
      });
      return next;
    },
    between: (work) =>
      afterOthers(async () => {
        if (!closing.signal.aborted) await work(closing.signal);
      }),
    close: () => closing.abort(),
  };
}

function namesOf(changes: SetChanges): Partial<Record<keyof SetChanges, string>> {
  return Object.fromEntries(
    Object.entries(changes).flatMap(([how, names]) => (names.length === 0 ? [] : [[how, names.join(', ')]])),
  );
}

/** Faults for every difference that a running agent cannot take up. */
export function restartFaults(before: AgentConfig, after: AgentConfig): readonly Fault[] {
  const [old, recent] = [fixedOf(before), fixedOf(after)];
  return Object.keys(old)
    .filter((path) => !isDeepStrictEqual(old[path], recent[path]))
    .map((path) => ({
      path,
      message: 'cannot be changed while the agent runs: restart the agent, or restore the old value',
    }));
}

/** By the paths in the file. */
function fixedOf(config: AgentConfig): Readonly<Record<string, unknown>> {
  const { serviceId, runtime, gateway, databases, identity, logging, metricsListen, traces } = config;
  return {
    'service.id': serviceId,
    'runtime.workers': runtime.workers,
    'gateway.url': gateway.urls,
    'gateway.max_links': gateway.maxLinks,
    'gateway.resolve_interval': gateway.resolveIntervalMs,
    'gateway.agent_private_key': gateway.privateKeySeed,
    'gateway.ca_file': gateway.ca,
    'gateway.proxy': gateway.proxy,
    'gateway.proxy_ca_file': gateway.proxyCa,
    // Metrics have a label for named databases, and none for the only one.
    databases: !Object.hasOwn(databases, UNNAMED),
    identity: identity && { ...identity, issuerPositions: undefined },
    logging,
    'metrics.addr': metricsListen,
    // A renewed file of headers is read at the next start.
    telemetry: traces && { ...traces, headers: undefined },
  };
}
