import type { CallerShare } from '../../driver.ts';
import type { DatabaseSession } from '../connection/database-session.ts';

/** Which caller has which session for itself, so that none has more than its share. */
export interface ExclusiveHolders {
  /** Whether it may have one more of `max`. */
  mayTake(caller: CallerShare | undefined, max: number): boolean;
  took(session: DatabaseSession, caller: CallerShare | undefined): void;
  /** Without effect where nobody has it. */
  gaveBack(session: DatabaseSession): void;
}

export function createExclusiveHolders(): ExclusiveHolders {
  const holders = new Map<DatabaseSession, CallerShare>();
  const counts = new Map<CallerShare, number>();
  return {
    mayTake: (caller, max) => caller === undefined || (counts.get(caller) ?? 0) < caller.most(max),
    took(session, caller) {
      if (caller === undefined) return;
      holders.set(session, caller);
      counts.set(caller, (counts.get(caller) ?? 0) + 1);
    },
    gaveBack(session) {
      const caller = holders.get(session);
      if (caller === undefined) return;
      holders.delete(session);
      const left = (counts.get(caller) ?? 1) - 1;
      if (left === 0) counts.delete(caller);
      else counts.set(caller, left);
    },
  };
}
