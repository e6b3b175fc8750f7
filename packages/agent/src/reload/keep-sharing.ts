import { isDeepStrictEqual } from 'node:util';
import { UNNAMED } from '../capabilities/database-names.ts';
import type { PreparedCapability } from '../databases/driver/driver.ts';
import { DatabaseError } from '../databases/driver/errors.ts';
import type { ReverifyOrder, ReverifyReport, VerifiedAgent } from '../start-up/report.ts';
import type { Observe } from '../telemetry/events.ts';
import type { Reloader } from './reloader.ts';

export interface KeepSharingOptions {
  readonly serving: () => VerifiedAgent;
  /** Serves this from now on; may differ from what is served only in what is prepared. */
  readonly swap: (verified: VerifiedAgent) => Promise<unknown>;
  readonly between: Reloader['between'];
  readonly verify: (order: ReverifyOrder, signal: AbortSignal) => Promise<ReverifyReport>;
  readonly observe: Observe;
}

/** What was served when a verification began, and what had lost its sharing by then. */
interface Begun {
  readonly verified: VerifiedAgent;
  readonly ended: ReadonlySet<string>;
}

export interface KeepSharing {
  /** Capabilities that were judged to share, do not any more, and have not been judged again. */
  readonly ended: ReadonlySet<string>;
  /** To be called as a database tells of it: see `SharingEnded`. */
  end(capability: string): void;
  /** To be called when a verification of what is served begins, for `take`. */
  begin(): Begun;
  /** Serves what the verification has judged otherwise than before. */
  take(begun: Begun, prepared: readonly PreparedCapability[]): Promise<void>;
  /** To be called when something else is served. */
  served(): void;
  close(): void;
}

/** A migration that changes one table often changes others: they are judged together. */
const FIRST_PAUSE_MS = 10_000;
const PAUSE_MS = 60_000;

/**
 * Judges capabilities again whose calls may no longer share transactions, in a process of its own. For each capability:
 *
 * - It shares, or has its own transactions: nothing is kept of it.
 * - Its sharing ends when a database tells so (`end`). It is judged once a minute, until it passes.
 * - Any verification that a swap takes up judges it: a reload, `runtime.reverify`, or one from here. If it may share, it is
 *   told of as back; if not, it is remembered, and a later judgement may bring it back.
 */
export function keepSharing(options: KeepSharingOptions): KeepSharing {
  const { serving, observe } = options;
  const closing = new AbortController();
  /** What was served of each capability that has been told of as ended, and not as back, when that was last looked at. */
  const told = new Map<string, PreparedCapability>();
  let judgedAt = Number.NEGATIVE_INFINITY;
  let timer: NodeJS.Timeout | undefined;

  function ended(): ReadonlySet<string> {
    const prepared = preparedOf(serving());
    return new Set(
      Array.from(told).flatMap(([name, each]) =>
        each.transaction?.form === 'shared' && prepared.get(name) === each ? [name] : [],
      ),
    );
  }

  /** What is prepared is another object once it has been verified again. */
  function tellOfJudged(): void {
    const verified = serving();
    const prepared = preparedOf(verified);
    const names = new Set(verified.config.capabilities.map(({ name }) => name));
    for (const [name, before] of told) {
      const now = prepared.get(name);
      if (!names.has(name)) told.delete(name);
      // Its database may be away.
      if (now === undefined || now === before) continue;
      if (now.transaction?.form === 'shared') {
        told.delete(name);
        observe({ event: 'sharing_back', capability: name });
      } else {
        told.set(name, now);
      }
    }
  }

  function judgeLater(): void {
    if (timer !== undefined || closing.signal.aborted || ended().size === 0) return;
    const pauseMs = Math.max(FIRST_PAUSE_MS, judgedAt + PAUSE_MS - performance.now());
    timer = setTimeout(() => {
      void judge().then(() => {
        timer = undefined;
        judgeLater();
      });
    }, pauseMs);
  }

  async function judge(): Promise<void> {
    const begun = begin();
    if (begun.ended.size === 0) return;
    judgedAt = performance.now();
    let report: ReverifyReport;
    try {
      report = await options.verify({ reverify: onlyOf(begun) }, closing.signal);
    } catch {
      // The agent ends, or the process has ended, for example without memory: the next one may pass.
      return;
    }
    await take(begun, report.prepared);
  }

  function begin(): Begun {
    return { verified: serving(), ended: ended() };
  }

  function take(begun: Begun, prepared: readonly PreparedCapability[]): Promise<void> {
    return options.between(async () => {
      const now = serving();
      // A reload meanwhile has judged everything.
      if (now.config !== begun.verified.config) return;
      const before = preparedOf(begun.verified);
      const present = preparedOf(now);
      const hasEnded = ended();
      const isNews = (each: PreparedCapability): boolean => {
        const name = each.capability;
        const old = before.get(name);
        if (old === undefined || present.get(name) !== old) return false;
        // The verification may not have seen yet why it ended.
        if (hasEnded.has(name) && !begun.ended.has(name)) return false;
        const isSame = isDeepStrictEqual([each.transaction, each.shared], [old.transaction, old.shared]);
        return hasEnded.has(name) || !isSame;
      };
      const news = new Map(prepared.filter(isNews).map((each) => [each.capability, each]));
      if (news.size === 0) return;
      try {
        await options.swap({
          ...now,
          prepared: now.prepared.map((each) => news.get(each.capability) ?? each),
        });
      } catch (error) {
        // The agent ends.
        if (!(error instanceof DatabaseError)) throw error;
        return;
      }
      tellOfJudged();
    });
  }

  return {
    get ended() {
      return ended();
    },
    end(capability) {
      // What tells may be newer than the last call of `served`.
      tellOfJudged();
      const prepared = preparedOf(serving()).get(capability);
      // Several sessions and workers tell of it, and late ones of what has been replaced.
      if (prepared?.transaction?.form !== 'shared' || told.has(capability)) return;
      told.set(capability, prepared);
      observe({ event: 'sharing_ended', capability });
      judgeLater();
    },
    begin,
    take,
    served() {
      tellOfJudged();
      judgeLater();
    },
    close() {
      closing.abort();
      clearTimeout(timer);
    },
  };
}

function preparedOf({ prepared }: VerifiedAgent): ReadonlyMap<string, PreparedCapability> {
  return new Map(prepared.map((each) => [each.capability, each]));
}

/** What is served of those that had ended. */
function onlyOf({ verified: { config }, ended }: Begun): VerifiedAgent['config'] {
  const capabilities = config.capabilities.filter(({ name }) => ended.has(name));
  const names = new Set(capabilities.map(({ database = UNNAMED }) => database));
  const databases = Object.entries(config.databases).filter(([name]) => names.has(name));
  return { ...config, databases: Object.fromEntries(databases), capabilities };
}
