import { CallError } from './call-error.ts';
import type { CallCapability } from './call-capability.ts';

/** Refuses calls of a principal that has `maxCalls` under way (GATEWAY_RATE_LIMITED); all others are made as before. */
export function limitConcurrentCalls(maxCalls: number, callCapability: CallCapability): CallCapability {
  /** Principals without a call under way are not in it. */
  const underWay = new Map<string, number>();

  function end(id: string): void {
    const rest = (underWay.get(id) ?? 1) - 1;
    if (rest === 0) underWay.delete(id);
    else underWay.set(id, rest);
  }

  return async (call) => {
    const { id } = call.principal;
    const calls = underWay.get(id) ?? 0;
    if (calls >= maxCalls) {
      throw new CallError(
        'GATEWAY_RATE_LIMITED',
        'too many calls of this caller are under way, wait for one',
      );
    }
    underWay.set(id, calls + 1);
    try {
      return await callCapability(call);
    } finally {
      end(id);
    }
  };
}
