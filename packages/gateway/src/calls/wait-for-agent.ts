import type { CallableLink } from '../agents/callable-link.ts';

/**
 * Calls that wait for an agent because the last one that has their capability was lost just before: while the only agent
 * of a service is started anew, its callers have to wait a moment longer and see no error.
 */
export interface AgentWait {
  /** It may take calls: those that wait for what it has go on, in the order in which they came. */
  came(agent: CallableLink): void;
  /** It takes no further calls. */
  left(agent: CallableLink): void;
  /** An agent with the capability that left so lately that a call may wait for the next one. */
  lostLately(capability: string): CallableLink | undefined;
  /**
   * Calls `goOn` once, with whether an agent has come, unless the returned function (cancel) is called first. It is called
   * at once where too many calls wait already.
   */
  wait(call: WaitingCall, mostMs: number, goOn: (came: boolean) => void): () => void;
  /** From now on no call waits. */
  close(): void;
}

interface WaitingCall {
  readonly capability: string;
  readonly params: Uint8Array;
}

interface Waiter extends WaitingCall {
  readonly goOn: (came: boolean) => void;
  readonly timer: NodeJS.Timeout;
}

/** An agent that is away for longer is not about to come back. */
const LATELY_MS = 2000;
/** They all go on at once, and what they hold is held for nothing when no agent comes. */
const MAX_WAITING = 1000;
const MAX_WAITING_BYTES = 8 * 1024 * 1024;

/** Each call waits for `waitMs` at most. */
export function createAgentWait(waitMs: number): AgentWait {
  const lost = new Set<CallableLink>();
  const waiting = new Set<Waiter>();
  let waitingBytes = 0;
  let closed = false;

  /** False where it has gone on already. */
  function leave(waiter: Waiter): boolean {
    if (!waiting.delete(waiter)) return false;
    waitingBytes -= waiter.params.byteLength;
    clearTimeout(waiter.timer);
    return true;
  }

  return {
    came(agent) {
      for (const waiter of waiting) {
        if (agent.capability(waiter.capability) !== undefined && leave(waiter)) waiter.goOn(true);
      }
    },
    left(agent) {
      if (closed) return;
      lost.add(agent);
      setTimeout(() => lost.delete(agent), LATELY_MS).unref();
    },
    lostLately(capability) {
      for (const agent of lost) if (agent.capability(capability) !== undefined) return agent;
      return undefined;
    },
    wait({ capability, params }, mostMs, goOn) {
      const ms = Math.min(waitMs, mostMs);
      const bytes = params.byteLength;
      if (closed || ms <= 0 || waiting.size >= MAX_WAITING || waitingBytes + bytes > MAX_WAITING_BYTES) {
        goOn(false);
        return () => {};
      }
      const timer = setTimeout(() => {
        if (leave(waiter)) goOn(false);
      }, ms);
      const waiter: Waiter = { capability, params, goOn, timer };
      waiting.add(waiter);
      waitingBytes += bytes;
      return () => void leave(waiter);
    },
    close() {
      closed = true;
      lost.clear();
      for (const waiter of waiting) if (leave(waiter)) waiter.goOn(false);
    },
  };
}
