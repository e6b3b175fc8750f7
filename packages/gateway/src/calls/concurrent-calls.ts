import { CallError } from './call-error.ts';
import type { CallCapability } from './call-capability.ts';

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

/** Refuses calls of a principal that has no slot left (GATEWAY_RATE_LIMITED); all others are made as before. */
export function limitConcurrentCalls(slots: CallSlots, callCapability: CallCapability): CallCapability {
  return async (call) => {
    const { id } = call.principal;
    const taken = slots.take(id);
    if (!(taken instanceof Promise ? await taken : taken)) {
      throw new CallError(
        'GATEWAY_RATE_LIMITED',
        'too many calls of this caller are under way, wait for one',
      );
    }
    try {
      return await callCapability(call);
    } finally {
      slots.free(id);
    }
  };
}
