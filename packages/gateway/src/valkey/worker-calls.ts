import { createCallSlots, type CallSlots } from '../access/call-slots.ts';
import type { PrimaryChannel, WorkerChannel } from '../cluster/channel.ts';

/** A worker's: the calls of all workers are counted together. Without a primary it lets all pass, since it ends then. */
export function askForCallSlots(channel: WorkerChannel): CallSlots {
  return {
    take: (principalId) => channel.ask('call', { principalId }).catch(() => true),
    free: (principalId) => channel.tell('call_ended', { principalId }),
  };
}

/** The primary's: what a worker has under way ends with it. */
export function countCalls(channel: PrimaryChannel, maxCalls: number): void {
  const slots = createCallSlots(maxCalls);
  /** By worker: a principal stands there once for each of its calls. */
  const underWay = new Map<number, string[]>();
  const callsOf = (worker: number): string[] => {
    const known = underWay.get(worker) ?? [];
    underWay.set(worker, known);
    return known;
  };
  channel.answer('call', ({ principalId }, worker) => {
    const taken = slots.take(principalId);
    if (taken) callsOf(worker).push(principalId);
    return taken;
  });
  channel.on('call_ended', ({ principalId }, worker) => {
    const calls = callsOf(worker);
    const at = calls.indexOf(principalId);
    if (at === -1) return;
    calls.splice(at, 1);
    slots.free(principalId);
  });
  channel.onLeave((worker) => {
    for (const principalId of underWay.get(worker) ?? []) slots.free(principalId);
    underWay.delete(worker);
  });
}
