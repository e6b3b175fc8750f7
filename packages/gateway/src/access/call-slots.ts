/** How many calls each principal has under way. */
export interface CallSlots {
  /** Whether it may make one more, which is counted from then on. Never rejects. */
  take(principalId: string): boolean | Promise<boolean>;
  free(principalId: string): void;
}

/** Counts the calls of this process. */
export function createCallSlots(maxCalls: number): CallSlots & { take(principalId: string): boolean } {
  /** Principals without a call under way are not in it. */
  const underWay = new Map<string, number>();
  return {
    take(id) {
      const calls = underWay.get(id) ?? 0;
      if (calls >= maxCalls) return false;
      underWay.set(id, calls + 1);
      return true;
    },
    free(id) {
      const rest = (underWay.get(id) ?? 1) - 1;
      if (rest === 0) underWay.delete(id);
      else underWay.set(id, rest);
    },
  };
}
