import type { CallerShare } from '../../driver/driver.ts';
import type { DatabaseSession } from '../connection/database-session.ts';

/** Which caller has which session for itself, so that none has more than its share. */
export interface ExclusiveHolders {
  /** Whether it may have one more of `max`. */
  mayTake(share: CallerShare | undefined, max: number): boolean;
  took(session: DatabaseSession, share: CallerShare | undefined): void;
  /** Without effect where nobody has it. */
  gaveBack(session: DatabaseSession): void;
}

export function createExclusiveHolders(): ExclusiveHolders {
  const holders = new Map<DatabaseSession, CallerShare>();
  const counts = new Map<CallerShare, number>();
  return {
    mayTake: (share, max) => share === undefined || (counts.get(share) ?? 0) < share.most(max),
    took(session, share) {
      if (share === undefined) return;
      holders.set(session, share);
      counts.set(share, (counts.get(share) ?? 0) + 1);
    },
    gaveBack(session) {
      const share = holders.get(session);
      if (share === undefined) return;
      holders.delete(session);
      const left = (counts.get(share) ?? 1) - 1;
      if (left === 0) counts.delete(share);
      else counts.set(share, left);
    },
  };
}
