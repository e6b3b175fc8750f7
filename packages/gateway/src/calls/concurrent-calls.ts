import { CallError } from '../core/call-error.ts';
import type { CallSlots } from '../access/call-slots.ts';
import type { CallCapability } from './call-capability.ts';

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
