import type { ProtocolVersion } from '@svc/protocol';
import type { CallableLink, OwnLink } from './callable-link.ts';

/** All links of agents that may take calls. */
export interface Registry {
  /** `listed`: whether every process of the replica can call it already. */
  add(session: OwnLink, listed?: boolean): void;
  /** Compares identity: a session never removes its successor. */
  remove(session: OwnLink): void;
  /** Adds a link of another process of the replica, as long as that process can be reached. */
  addRemote(link: CallableLink, listed: boolean): void;
  /** Every process of the replica can call the link from now on. */
  list(link: CallableLink): void;
  removeRemote(link: CallableLink): void;
  /**
   * Picks two links of this process that have the capability at random, and returns the less loaded one. If none of
   * them takes a call now, picks among the links of other processes.
   */
  choose(
    capability: string,
    tried: Tried,
    leastVersion?: ProtocolVersion,
    isAvoided?: (link: CallableLink) => boolean,
  ): AgentChoice;
  /** Has a call of another principal give way at a busy link of this process, and returns that link. */
  makePlace(
    capability: string,
    tried: Tried,
    principal: string,
    maySend: (agent: CallableLink) => boolean,
  ): CallableLink | undefined;
  /** Whether all processes of the replica can call an agent, wherever it is connected. */
  readonly connected: boolean;
  /** Whether any agent has a database ready, or each database that agents report is ready at one of them. */
  databasesReady(which: WhichDatabases): boolean;
  /** Links of agents to this process. */
  readonly sessions: Iterable<Pick<CallableLink, 'connId' | 'inFlight'>>;
  readonly connections: number;
  /** Calls that the agents connected to this process have and have not answered. */
  readonly callsInFlight: number;
}

export type WhichDatabases = 'any' | 'all';

/** Where a call is not sent again. */
export interface Tried {
  /** Agent processes: what one of their links refused, the others would refuse too. */
  readonly instances: readonly string[];
  readonly links: readonly CallableLink[];
}

export const NOBODY: Tried = { instances: [], links: [] };

/**
 * `offline`: no connected agent has the capability. `outdated`: only agents have it that speak lower versions of the
 * protocol than the call needs.
 */
type AgentChoice = CallableLink | 'offline' | 'outdated' | 'busy';

/** Is told of links that come and go, of this process and of others. */
interface RegistryWatcher {
  added(link: CallableLink): void;
  removed(link: CallableLink): void;
}

/** `random` in [0, 1). */
export function createRegistry(random: () => number, watcher?: RegistryWatcher): Registry {
  const sessions = new Set<OwnLink>();
  const remotes = new Set<CallableLink>();
  /** Of sessions and remotes. */
  const unlisted = new Set<CallableLink>();

  function enter<Each extends CallableLink>(links: Set<Each>, link: Each, listed: boolean): void {
    links.add(link);
    if (!listed) unlisted.add(link);
    watcher?.added(link);
  }

  function leave<Each extends CallableLink>(links: Set<Each>, link: Each): void {
    unlisted.delete(link);
    if (links.delete(link)) watcher?.removed(link);
  }

  function pick(candidates: readonly CallableLink[]): CallableLink | undefined {
    if (candidates.length < 2) return candidates[0];
    const first = Math.floor(random() * candidates.length);
    const second = (first + 1 + Math.floor(random() * (candidates.length - 1))) % candidates.length;
    const [a, b] = [candidates[first], candidates[second]];
    if (a === undefined || b === undefined) return a ?? b;
    return b.inFlight < a.inFlight ? b : a;
  }

  /** An agent that takes no more calls over a link of this process takes none over its other links either. */
  function isFullHere(instanceId: string): boolean {
    for (const session of sessions) if (session.instanceId === instanceId && !session.available) return true;
    return false;
  }

  return {
    add: (session, listed = true) => enter(sessions, session, listed),
    remove: (session) => leave(sessions, session),
    addRemote: (link, listed) => enter(remotes, link, listed),
    removeRemote: (link) => leave(remotes, link),
    list(link) {
      unlisted.delete(link);
    },
    choose(capability, tried, leastVersion = 1, isAvoided) {
      const candidates: CallableLink[] = [];
      let knows = false;
      let outdated = false;
      function consider(links: Iterable<CallableLink>, isFull: (link: CallableLink) => boolean): void {
        for (const link of links) {
          if (wasTried(link, tried)) continue;
          if (link.capability(capability) === undefined || isAvoided?.(link) === true) continue;
          if (link.protocolVersion < leastVersion) {
            outdated = true;
            continue;
          }
          knows = true;
          if (link.available && !isFull(link)) candidates.push(link);
        }
      }
      consider(sessions, () => false);
      if (candidates.length === 0) consider(remotes, ({ instanceId }) => isFullHere(instanceId));
      const chosen = pick(candidates);
      if (chosen !== undefined) return chosen;
      if (knows) return 'busy';
      return outdated ? 'outdated' : 'offline';
    },
    makePlace(capability, tried, principal, maySend) {
      for (const session of sessions) {
        if (wasTried(session, tried) || session.capability(capability) === undefined) continue;
        if (maySend(session) && session.makePlace(principal)) return session;
      }
      return undefined;
    },
    get connected() {
      return sessions.size + remotes.size > unlisted.size;
    },
    databasesReady(which) {
      const links = [...sessions, ...remotes].filter((link) => !unlisted.has(link));
      if (which === 'any') {
        return links.some(({ databases }) => databases?.some(({ state }) => state === 'ready') ?? true);
      }
      const told = links.flatMap(({ databases }) => databases ?? []);
      const ready = new Set(told.flatMap(({ name, state }) => (state === 'ready' ? [name] : [])));
      // An agent with an empty list has just connected and reports its databases at once.
      return (
        links.every(({ databases }) => databases?.length !== 0) && told.every(({ name }) => ready.has(name))
      );
    },
    get sessions() {
      return sessions.values();
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

function wasTried(link: CallableLink, { instances, links }: Tried): boolean {
  return instances.includes(link.instanceId) || links.includes(link);
}
