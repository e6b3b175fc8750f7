import type { AbortSignalLike } from '@svc/edge';
import { DatabaseError } from '../../driver/errors.ts';
import type { Backend, DatabaseSession } from '../connection/database-session.ts';
import { terminateOrphans } from './orphaned-backends.ts';
import type { TimeLimit } from '../../sessions/wait-queue.ts';

/** Sessions that were left with their query running, until the server is known to have ended it. */
export interface OrphanedSessions {
  readonly size: number;
  /** `texts` are the statements that may be running on it. */
  add(session: DatabaseSession, texts: readonly string[]): void;
  /** False where it is none of them. */
  delete(session: DatabaseSession): boolean;
  /** Discards all, and looks after them no more: the server ends them, or their queries do. */
  close(): void;
}

/** A session over which the server is asked about the orphaned ones. */
export interface CheckSession {
  readonly session: DatabaseSession;
  readonly giveBack: () => void;
}

interface Orphan {
  readonly session: DatabaseSession;
  readonly backend: Backend | undefined;
  readonly texts: readonly string[];
  /** By `performance.now()`. */
  readonly since: number;
}

/** What a server that checks its client needs to see by itself that a session was left, and some more. */
const CHECK_MS = 1500;
/** How long a session behind a pooler counts: its process cannot be ended, and the pooler has limits of its own. */
const FORGET_POOLED_MS = 5000;
/** How long a check may wait for a session; then it is tried again. */
const CHECK_WAIT_MS = 1000;

/** `discard` ends a session and deletes it here. */
export function createOrphanedSessions(
  acquire: (limit: TimeLimit) => Promise<CheckSession>,
  discard: (session: DatabaseSession) => void,
): OrphanedSessions {
  const orphans = new Map<DatabaseSession, Orphan>();
  const closing = new AbortController();
  let timer: NodeJS.Timeout | undefined;

  function scheduleCheck(): void {
    if (timer !== undefined || orphans.size === 0 || closing.signal.aborted) return;
    timer = setTimeout(() => {
      const again = (): void => {
        timer = undefined;
        scheduleCheck();
      };
      // One that fails is made again.
      check().then(again, again);
    }, CHECK_MS);
  }

  async function check(): Promise<void> {
    const present = [...orphans.values()];
    const pooledUntil = performance.now() - FORGET_POOLED_MS;
    for (const { session, backend, since } of present) {
      if (backend === undefined && since < pooledUntil) discard(session);
    }
    const known = present.flatMap(({ session, backend, texts }) =>
      backend === undefined ? [] : [{ ...backend, texts, session }],
    );
    const over = known.length === 0 ? undefined : await acquireIfPossible(closing.signal);
    if (over === undefined) return;
    const ended = await terminateOrphans(over.session, known);
    if (ended === 'unknown') {
      discard(over.session);
      return;
    }
    over.giveBack();
    for (const { session } of ended) discard(session);
  }

  async function acquireIfPossible(signal: AbortSignalLike): Promise<CheckSession | undefined> {
    try {
      return await acquire({ signal, timeoutMs: CHECK_WAIT_MS });
    } catch (error) {
      if (error instanceof DatabaseError) return undefined;
      throw error;
    }
  }

  return {
    get size() {
      return orphans.size;
    },
    add(session, texts) {
      const { backend } = session.facts;
      orphans.set(session, { session, backend, texts, since: performance.now() });
      scheduleCheck();
    },
    delete: (session) => orphans.delete(session),
    close() {
      closing.abort();
      clearTimeout(timer);
      for (const session of orphans.keys()) discard(session);
    },
  };
}
