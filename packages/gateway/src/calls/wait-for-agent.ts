import type { CallableLink } from '../agents/callable-link.ts';

/**
 * Calls that wait because the last agent with their capability has just left: while the only agent of a service restarts,
 * its callers wait a moment longer and see no error.
 */
export interface AgentWait {
  /** The agent takes calls: calls that wait for its capabilities go on, in order. */
  came(agent: CallableLink): void;
  left(agent: CallableLink): void;
  /** An agent with the capability that left so recently that a call may wait for the next one. */
  lostLately(capability: string): CallableLink | undefined;
  /** Calls `goOn` once, with whether an agent has come, unless the returned function (cancel) is called first. */
  wait(call: WaitingCall, mostMs: number, goOn: (came: boolean) => void): () => void;
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
/** Waiting calls hold memory, and all go on at once. */
const MAX_WAITING = 1000;
const MAX_WAITING_BYTES = 8 * 1024 * 1024;

export function createAgentWait(waitMs: number): AgentWait {
  const lost = new Set<CallableLink>();
  const waiting = new Set<Waiter>();
  let waitingBytes = 0;
  let closed = false;

  /** False when it has gone on already. */
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
