import type { Catalog } from '../catalog/catalog.ts';
import type { AgentOffer } from '../catalog/offer.ts';
import type { AgentSession } from './agent-session.ts';
import type { Registry } from './registry.ts';

/** Where the sessions of a service are entered once their agents have described themselves. */
export interface SessionDirectory {
  /**
   * `onListed` is called once calls may reach the session. Returns what is to be called when it takes no more. Another
   * session of the same agent process that this process holds is superseded by it.
   */
  enter(session: AgentSession, offer: AgentOffer, onListed: () => void): () => void;
}

const SUPERSEDED = 'another connection of this agent took its place';

/** Of a replica that is one process. */
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
  /** Supersedes the one before. Returns what is to be called when it takes no more calls. */
  add(session: AgentSession, agent: AgentProcess): () => void;
  supersede(agent: AgentProcess): void;
}

export function createNewestSessions(): NewestSessions {
  const newest = new Map<string, AgentSession>();
  /** Whoever has another key must not make up the id of an instance. */
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
