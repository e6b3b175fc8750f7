import type { ProtocolVersion } from '@svc/protocol';
import type { AgentSession } from './agent-session.ts';

/** Every agent that may take calls. */
export interface Registry {
  add(session: AgentSession): void;
  /** By identity: a session never removes its successor. */
  remove(session: AgentSession): void;
  /** The less loaded of two agents picked at random among those that have the capability. */
  choose(capability: string, except: readonly AgentSession[], leastVersion?: ProtocolVersion): AgentChoice;
  /** An agent that `choose` finds busy, after a call of another principal has given its place there to one of this. */
  makePlace(
    capability: string,
    except: readonly AgentSession[],
    principal: string,
    maySend: (agent: AgentSession) => boolean,
  ): AgentSession | undefined;
  readonly connected: boolean;
  readonly connections: number;
  /** Calls that the connected agents have and have not answered. */
  readonly callsInFlight: number;
}

/**
 * `offline`: none that is connected has the capability; `outdated`: some have, but of lower versions of the protocol than
 * the call needs.
 */
type AgentChoice = AgentSession | 'offline' | 'outdated' | 'busy';

/** Who wants to know of the agents that come and go. */
export interface RegistryWatcher {
  added(session: AgentSession): void;
  removed(session: AgentSession): void;
}

/** `random` in [0, 1). */
export function createRegistry(random: () => number, watcher?: RegistryWatcher): Registry {
  const sessions = new Set<AgentSession>();

  function pick(candidates: readonly AgentSession[]): AgentSession | undefined {
    if (candidates.length < 2) return candidates[0];
    const first = Math.floor(random() * candidates.length);
    const second = (first + 1 + Math.floor(random() * (candidates.length - 1))) % candidates.length;
    const [a, b] = [candidates[first], candidates[second]];
    if (a === undefined || b === undefined) return a ?? b;
    return b.inFlight < a.inFlight ? b : a;
  }

  return {
    add(session) {
      sessions.add(session);
      watcher?.added(session);
    },
    remove(session) {
      if (sessions.delete(session)) watcher?.removed(session);
    },
    choose(capability, except, leastVersion = 1) {
      const candidates: AgentSession[] = [];
      let knows = false;
      let outdated = false;
      for (const session of sessions) {
        if (except.includes(session)) continue;
        if (session.capability(capability) === undefined) continue;
        if (session.protocolVersion < leastVersion) {
          outdated = true;
          continue;
        }
        knows = true;
        if (session.available) candidates.push(session);
      }
      const chosen = pick(candidates);
      if (chosen !== undefined) return chosen;
      if (knows) return 'busy';
      return outdated ? 'outdated' : 'offline';
    },
    makePlace(capability, except, principal, maySend) {
      for (const session of sessions) {
        if (except.includes(session) || session.capability(capability) === undefined) continue;
        if (maySend(session) && session.makePlace(principal)) return session;
      }
      return undefined;
    },
    get connected() {
      return sessions.size > 0;
    },
    get connections() {
      return sessions.size;
    },
    get callsInFlight() {
      let calls = 0;
      for (const session of sessions) calls += session.inFlight;
      return calls;
    },
  };
}
