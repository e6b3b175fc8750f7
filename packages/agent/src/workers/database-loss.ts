import type { DatabaseChange, DatabaseConnections } from '../databases/driver.ts';
import type { Loss, WorkerState } from './messages.ts';

/** Makes one database of what each worker sees of it, so that a loss and its end are told once. */
export interface DatabaseLoss {
  readonly isLost: boolean;
  /** To be called with all states whenever one has come; `loss` is why that worker lost it last. */
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

/**
 * It is lost when a worker has lost it and none has a connection left; one that had nothing to do does not notice. It is
 * back with the first connection, or when no worker misses it any more.
 */
export function createDatabaseLoss(
  onChange: (change: DatabaseChange) => void,
  now: () => number = () => performance.now(),
): DatabaseLoss {
  let lostAt: number | undefined;
  return {
    get isLost() {
      return lostAt !== undefined;
    },
    changed(states, loss) {
      const isMissed = states.some(({ isUp }) => !isUp);
      // Where one is lost, what is busy are queries that were left to themselves.
      const isThere = states.some(({ isUp, idle, busy }) => isUp && idle + busy > 0);
      if (lostAt === undefined && isMissed && !isThere && loss !== undefined) {
        lostAt = now();
        onChange({ isUp: false, ...loss });
      } else if (lostAt !== undefined && (isThere || !isMissed)) {
        const awayMs = Math.round(now() - lostAt);
        lostAt = undefined;
        onChange({ isUp: true, awayMs });
      }
    },
  };
}
