import type { AbortSignalLike } from '@svc/edge';
import { DatabaseError } from '../../driver/errors.ts';
import type { TimeLimit } from '../../sessions/wait-queue.ts';
import { BACKEND_STARTED, type DatabaseSession } from '../connection/database-session.ts';
import { sendAll } from '../connection/pipeline.ts';

/** A session over which the server is asked about the orphaned ones. */
export interface CheckSession {
  readonly session: DatabaseSession;
  readonly giveBack: () => void;
}

interface Orphan {
  readonly session: DatabaseSession;
  /** The statements that may be running on it. */
  readonly texts: readonly string[];
  /** By `performance.now()`. */
  readonly since: number;
}

/** A server that checks its client sees by itself within this time that a session was left. */
const CHECK_MS = 1500;
/** How long a session behind a pooler counts: its process cannot be ended, and the pooler has limits of its own. */
const FORGET_POOLED_MS = 5000;
/** How long a check may wait for a session; then it is tried again. */
const CHECK_WAIT_MS = 1000;
const TERMINATE_TIMEOUT_MS = 1000;

/** With its schema, for the account's path may have another operator of that name, and no transaction is READ ONLY here. */
const EQUALS = 'operator(pg_catalog.=)';

/**
 * Terminates a process only if it is that very one and still runs one of those statements: behind a pooler it may serve
 * another client by now. The server cuts the text that it shows.
 */
const TERMINATE = `select a.pid, ${BACKEND_STARTED}, pg_catalog.pg_terminate_backend(a.pid)
from pg_catalog.pg_stat_activity a
join pg_catalog.json_to_recordset($1::pg_catalog.json) l(pid pg_catalog.int4, started pg_catalog.text, text pg_catalog.text)
on l.pid ${EQUALS} a.pid and l.started ${EQUALS} ${BACKEND_STARTED}
where a.state ${EQUALS} 'active' and a.application_name ${EQUALS} 'svc-agent' and a.query operator(pg_catalog.<>) ''
and pg_catalog.left(l.text, pg_catalog.length(a.query)) ${EQUALS} a.query`;

/** Sessions that were left with their query running, until the server is known to have ended it. */
export class OrphanedSessions {
  readonly #acquire: (limit: TimeLimit) => Promise<CheckSession>;
  readonly #discard: (session: DatabaseSession) => void;
  readonly #orphans = new Map<DatabaseSession, Orphan>();
  readonly #closing = new AbortController();
  #timer: NodeJS.Timeout | undefined;

  /** `discard` ends a session and deletes it here. */
  constructor(
    acquire: (limit: TimeLimit) => Promise<CheckSession>,
    discard: (session: DatabaseSession) => void,
  ) {
    this.#acquire = acquire;
    this.#discard = discard;
  }

  get size(): number {
    return this.#orphans.size;
  }

  add(session: DatabaseSession, texts: readonly string[]): void {
    this.#orphans.set(session, { session, texts, since: performance.now() });
    this.#scheduleCheck();
  }

  /** False if it is none of them. */
  delete(session: DatabaseSession): boolean {
    return this.#orphans.delete(session);
  }

  /** Discards all, and looks after them no more: the server ends them, or their queries end. */
  close(): void {
    this.#closing.abort();
    clearTimeout(this.#timer);
    for (const session of this.#orphans.keys()) this.#discard(session);
  }

  #scheduleCheck(): void {
    if (this.#timer !== undefined || this.size === 0 || this.#closing.signal.aborted) return;
    this.#timer = setTimeout(() => {
      const again = (): void => {
        this.#timer = undefined;
        this.#scheduleCheck();
      };
      // A check that fails is made again.
      this.#check().then(again, again);
    }, CHECK_MS);
  }

  async #check(): Promise<void> {
    const present = [...this.#orphans.values()];
    const pooledUntil = performance.now() - FORGET_POOLED_MS;
    for (const { session, since } of present) {
      if (session.facts.backend === undefined && since < pooledUntil) this.#discard(session);
    }
    const known = present.filter(({ session }) => session.facts.backend !== undefined);
    const over = known.length === 0 ? undefined : await this.#acquireIfPossible(this.#closing.signal);
    if (over === undefined) return;
    const running = await terminate(over.session, known);
    if (running === undefined) {
      this.#discard(over.session);
      return;
    }
    over.giveBack();
    for (const { session } of known) if (!running.has(processOf(session))) this.#discard(session);
  }

  async #acquireIfPossible(signal: AbortSignalLike): Promise<CheckSession | undefined> {
    try {
      return await this.#acquire({ signal, timeoutMs: CHECK_WAIT_MS });
    } catch (error) {
      if (error instanceof DatabaseError) return undefined;
      throw error;
    }
  }
}

/**
 * Over another session, makes the server end the processes that still run. Returns which ran, as `processOf` writes them;
 * undefined if the server does not say, and then the other session is of no more use.
 */
async function terminate(
  over: DatabaseSession,
  orphans: readonly Orphan[],
): Promise<ReadonlySet<string> | undefined> {
  const sought = orphans.flatMap(({ session: { facts }, texts }) =>
    texts.map((text) => ({ pid: Number(facts.backend?.processId), started: facts.backend?.startedAt, text })),
  );
  const timer = setTimeout(() => over.destroy(), TERMINATE_TIMEOUT_MS);
  const [unit] = await sendAll(over, [[{ text: TERMINATE, values: [JSON.stringify(sought)] }]]);
  clearTimeout(timer);
  const found = unit?.error === undefined ? unit?.results[0]?.rows : undefined;
  return found && new Set(found.map(([processId, startedAt]) => `${processId} ${startedAt}`));
}

function processOf({ facts: { backend } }: DatabaseSession): string {
  return `${backend?.processId} ${backend?.startedAt}`;
}
