import type { Catalog } from '../catalog/catalog.ts';
import type { AgentOffer } from '../catalog/offer.ts';
import type { AgentSession } from './agent-session.ts';
import type { Registry } from './registry.ts';

/** The sessions of a service whose agents have described themselves. */
export interface SessionDirectory {
  /**
   * `onListed` is called once calls can reach the session. The returned function must be called when it takes no more.
   * Supersedes another session of the same agent process that this process holds.
   */
  enter(session: AgentSession, offer: AgentOffer, onListed: () => void): () => void;
}

const SUPERSEDED = 'another connection of this agent took its place';

/** For a replica that is one process. */
export function createSessionDirectory(registry: Registry, catalog: Catalog): SessionDirectory {
  const newest = createNewestSessions();
  return {
    enter(session, offer, onListed) {
      registry.add(session);
      onListed();
      const leaveCatalog = catalog.add(offer);
      const leaveNewest = newest.add(session, offer);
      return () => {
        registry.remove(session);
        leaveCatalog();
        leaveNewest();
      };
    },
  };
}

type AgentProcess = Pick<AgentOffer, 'keyId' | 'instanceId'>;

/** The one session of each agent process that takes calls. */
export interface NewestSessions {
  /** Supersedes the earlier session. The returned function must be called when the session takes no more calls. */
  add(session: AgentSession, agent: AgentProcess): () => void;
  supersede(agent: AgentProcess): void;
}

export function createNewestSessions(): NewestSessions {
  const newest = new Map<string, AgentSession>();
  /** With the key, since an agent with another key may claim the same instance id. */
  const nameOf = ({ keyId, instanceId }: AgentProcess): string => `${keyId} ${instanceId}`;
  return {
    add(session, agent) {
      const name = nameOf(agent);
      const before = newest.get(name);
      newest.set(name, session);
      before?.supersede(SUPERSEDED);
      return () => {
        if (newest.get(name) === session) newest.delete(name);
      };
    },
    supersede(agent) {
      newest.get(nameOf(agent))?.supersede(SUPERSEDED);
    },
  };
}
