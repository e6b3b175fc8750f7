import type { DatabaseChange, DatabaseConnections, TransactionCounts } from '../databases/driver/driver.ts';
import type { Loss, WorkerState } from './messages.ts';

/** Combines what the workers see of one database, so that a loss and its end are reported once. */
export interface DatabaseLoss {
  readonly isLost: boolean;
  /** To be called with all states when one has changed; `loss` is why that worker last lost the database. */
  changed(states: readonly WorkerState[], loss: Loss | undefined): void;
}

export function sumOf(states: readonly DatabaseConnections[]): DatabaseConnections {
  const sum = (valueOf: (state: DatabaseConnections) => number): number =>
    states.reduce((total, state) => total + valueOf(state), 0);
  return {
    idle: sum(({ idle }) => idle),
    busy: sum(({ busy }) => busy),
    opening: sum(({ opening }) => opening),
    waiting: sum(({ waiting }) => waiting),
  };
}

/** Undefined if none has counts. */
export function sumOfTransactions(
  counts: readonly (TransactionCounts | undefined)[],
): TransactionCounts | undefined {
  return counts.reduce((total, each) => {
    if (total === undefined || each === undefined) return total ?? each;
    return {
      own: total.own + each.own,
      shared: total.shared + each.shared,
      sharedCalls: total.sharedCalls + each.sharedCalls,
      sharedResends: total.sharedResends + each.sharedResends,
    };
  }, undefined);
}

/**
 * The database is lost when a worker has lost it and no worker has a connection; an idle worker does not notice a loss. It is
 * back when the first worker that had lost it has a connection, or when no worker misses it any more. A connection of
 * another worker proves nothing: it may be lost unnoticed.
 */
export function createDatabaseLoss(
  onChange: (change: DatabaseChange) => void,
  now: () => number = () => performance.now(),
): DatabaseLoss {
  let lostAt: number | undefined;
  let mostMissing = 0;
  return {
    get isLost() {
      return lostAt !== undefined;
    },
    changed(states, loss) {
      const missing = states.filter(({ isUp }) => !isUp).length;
      // In a worker that has lost it, busy connections are those of abandoned queries.
      const isThere = states.some(({ isUp, idle, busy }) => isUp && idle + busy > 0);
      if (lostAt === undefined && missing > 0 && !isThere && loss !== undefined) {
        lostAt = now();
        mostMissing = missing;
        onChange({ isUp: false, ...loss });
        return;
      }
      mostMissing = Math.max(mostMissing, missing);
      if (lostAt !== undefined && (missing === 0 || (isThere && missing < mostMissing))) {
        const awayMs = Math.round(now() - lostAt);
        lostAt = undefined;
        onChange({ isUp: true, awayMs });
      }
    },
  };
}
