/** How many calls each principal has under way. */
export interface CallSlots {
  /** Whether the principal may make one more call, which counts from then on. Never rejects. */
  take(principalId: string): boolean | Promise<boolean>;
  free(principalId: string): void;
}

export function createCallSlots(maxCalls: number): CallSlots & { take(principalId: string): boolean } {
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
