import type { AbortSignalLike } from '@svc/edge';
import type { CallerShare, Database, DatabaseChange } from '../driver/driver.ts';
import { PoolBase, type LiveSession, type PooledSession, type PoolRules } from './pool-base.ts';

/** The parts of a `Database` that every pool has. A query leaves nothing behind, unless the engine says how to `forget`. */
export function pooledDatabase(
  pool: Pick<PoolBase<PooledSession>, 'connections' | 'isUp' | 'close'>,
  own: Pick<Database, 'ping' | 'prepare'> & Partial<Pick<Database, 'forget' | 'transactions'>>,
): Database {
  return {
    forget: () => {},
    ...own,
    get connections() {
      return pool.connections;
    },
    get isUp() {
      return pool.isUp;
    },
    close: () => pool.close(),
  };
}

/** Hands out each session to one call, or to at most `mostShort` that are short. */
export class Pool<Session extends PooledSession> extends PoolBase<Session> {
  protected readonly orphans: Set<Session> = new Set();
  readonly #mostShort: number;

  constructor(
    open: (signal: AbortSignalLike) => Promise<Session>,
    max: number,
    rules: PoolRules,
    onChange?: (change: DatabaseChange) => void,
    mostShort: number = 1,
  ) {
    super(open, max, rules, onChange);
    this.#mostShort = mostShort;
  }

  protected assign(shortMs: number | undefined, _share: CallerShare | undefined): Session | undefined {
    const session = this.idle.pop() ?? (shortMs === undefined ? undefined : this.#leastBusy());
    const live = session && this.live.get(session);
    if (live === undefined) return undefined;
    if (live.state === 'idle') live.state = shortMs === undefined ? 'exclusive' : 'shared';
    live.acquired += 1;
    return session;
  }

  #leastBusy(): Session | undefined {
    let least = this.#mostShort;
    let found: Session | undefined;
    for (const [session, { state, acquired }] of this.live) {
      if (state !== 'shared' || acquired >= least) continue;
      found = session;
      least = acquired;
    }
    return found;
  }

  /** The end of such a session is not waited for. */
  protected override endGracefully(session: Session): void {
    super.endGracefully(session);
    this.removeLive(session);
  }

  protected endDoubtful(session: Session): void {
    this.discard(session);
  }

  protected override wasInUse(live: LiveSession): boolean {
    return live.acquired > 0 || super.wasInUse(live);
  }
}
