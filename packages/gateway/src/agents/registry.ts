import type { Description } from '@svc/protocol';
import type { AgentSession } from './session.ts';

/** Every agent that may take calls, and the newest description that one of them gave. */
export interface Registry {
  /** Also makes its description the served one. */
  add(session: AgentSession, description: Description): void;
  /**
   * By identity: a session never removes its successor. Served is then what the newest agent left described, or, when
   * none is left, what was described last.
   */
  remove(session: AgentSession): void;
  /** The less loaded of two agents picked at random among those that have the capability. */
  choose(capability: string, except: readonly AgentSession[]): AgentChoice;
  readonly connected: boolean;
  readonly connections: number;
  /** Calls that the connected agents have and have not answered. */
  readonly callsInFlight: number;
  /** Survives the loss of the last agent; undefined until the first has connected. */
  readonly description: Description | undefined;
  /** Called when the served description changes. */
  onDescription(listener: (description: Description) => void): void;
}

type AgentChoice = AgentSession | 'offline' | 'unknown_capability' | 'busy';

/** `random` in [0, 1). */
export function createRegistry(random: () => number): Registry {
  /** In the order in which they described themselves. */
  const sessions = new Map<AgentSession, Description>();
  const listeners: ((description: Description) => void)[] = [];
  /** Of whoever described itself last. */
  let latest: Description | undefined;
  let served: Description | undefined;

  function pick(candidates: readonly AgentSession[]): AgentSession | undefined {
    if (candidates.length < 2) return candidates[0];
    const first = Math.floor(random() * candidates.length);
    const second = (first + 1 + Math.floor(random() * (candidates.length - 1))) % candidates.length;
    const [a, b] = [candidates[first], candidates[second]];
    if (a === undefined || b === undefined) return a ?? b;
    return b.inFlight < a.inFlight ? b : a;
  }

  function serve(description: Description): void {
    served = description;
    for (const listener of listeners) listener(description);
  }

  return {
    add(session, description) {
      sessions.delete(session);
      sessions.set(session, description);
      latest = description;
      serve(description);
    },
    remove(session) {
      if (!sessions.delete(session)) return;
      const newest = [...sessions.values()].at(-1) ?? latest;
      if (newest !== undefined && newest !== served) serve(newest);
    },
    choose(capability, except) {
      const candidates: AgentSession[] = [];
      let reachable = false;
      let knows = false;
      for (const session of sessions.keys()) {
        if (except.includes(session)) continue;
        reachable = true;
        if (session.capability(capability) === undefined) continue;
        knows = true;
        if (session.available) candidates.push(session);
      }
      return pick(candidates) ?? (knows ? 'busy' : reachable ? 'unknown_capability' : 'offline');
    },
    get connected() {
      return sessions.size > 0;
    },
    get connections() {
      return sessions.size;
    },
    get callsInFlight() {
      let calls = 0;
      for (const session of sessions.keys()) calls += session.inFlight;
      return calls;
    },
    get description() {
      return served;
    },
    onDescription(listener) {
      listeners.push(listener);
    },
  };
}
