import { FLEET_FEATURE } from '@svc/protocol';
import type { Observe } from '../telemetry/events.ts';
import type { AgentSession } from './agent-session.ts';

/** The links that agents hold to this process, beside those that they should hold. */
export interface AgentLinks {
  /** Whether this process takes a further link of that agent process. The one that it holds may be replaced. */
  mayAdd(instanceId: string): boolean;
  add(session: AgentSession, source: string): void;
  remove(session: AgentSession): void;
  /** A connection was left after its challenge by a peer that says it is this agent process. */
  leftAtChallenge(instanceId: string, source: string): void;
  /** Tells the agents; those that are new learn it from their welcome. */
  replicaCountChanged(): void;
  /** Links that the agents which are here should hold to this replica and do not. */
  readonly missing: number;
  /** Agents that hold one link where more are wanted, because they know no other way. */
  readonly single: number;
}

export interface AgentLinksOptions {
  /** As agents are told. */
  readonly replicaCount: () => number;
  readonly linksPerReplica: number;
  /** Undefined: no bound. */
  readonly maxLinks: number | undefined;
  readonly observe: Observe;
  /** A monotonic clock, in milliseconds. */
  readonly now: () => number;
}

/** An agent finds a dozen replicas in less; one that gets here again and again for longer finds no other. */
const SHORT_AFTER_MS = 25_000;
/**
 * Agents that search in vain dial every 36 s at least. Longer, and the searches of a roll-out, which all end well, would
 * count as one.
 */
const SEARCH_ENDED_MS = 45_000;
/** Of old agents that were told of: each reconnects with the same id. */
const TOLD_MAX = 1000;

interface Search {
  readonly since: number;
  last: number;
  told: boolean;
}

export function createAgentLinks(options: AgentLinksOptions): AgentLinks {
  const { replicaCount, linksPerReplica, maxLinks, observe, now } = options;
  /** From where each came. */
  const sessions = new Map<AgentSession, string>();
  const byInstance = new Map<string, number>();
  const searches = new Map<string, Search>();
  const singleTold = new Set<string>();

  const wantsMore = (): boolean => replicaCount() * linksPerReplica > 1;
  const isSingle = (session: AgentSession): boolean => !session.features.includes(FLEET_FEATURE);

  function tellOfSingle(session: AgentSession, source: string): void {
    const { connId, instanceId } = session;
    if (!isSingle(session) || !wantsMore() || singleTold.has(instanceId)) return;
    const [oldest] = singleTold;
    if (singleTold.size >= TOLD_MAX && oldest !== undefined) singleTold.delete(oldest);
    singleTold.add(instanceId);
    observe({ event: 'agent_single_link', conn_id: connId, instance_id: instanceId, source });
  }

  return {
    mayAdd: (instanceId) =>
      maxLinks === undefined || sessions.size < maxLinks || byInstance.get(instanceId) === 1,
    add(session, source) {
      sessions.set(session, source);
      byInstance.set(session.instanceId, (byInstance.get(session.instanceId) ?? 0) + 1);
      tellOfSingle(session, source);
    },
    remove(session) {
      if (!sessions.delete(session)) return;
      const left = (byInstance.get(session.instanceId) ?? 0) - 1;
      if (left > 0) byInstance.set(session.instanceId, left);
      else {
        byInstance.delete(session.instanceId);
        searches.delete(session.instanceId);
      }
    },
    leftAtChallenge(instanceId, source) {
      // Anybody can name an agent process; only those that are here take memory.
      if (!byInstance.has(instanceId)) return;
      const at = now();
      const known = searches.get(instanceId);
      const search: Search =
        known === undefined || at - known.last > SEARCH_ENDED_MS
          ? { since: at, last: at, told: false }
          : known;
      search.last = at;
      searches.set(instanceId, search);
      if (search.told || at - search.since < SHORT_AFTER_MS) return;
      search.told = true;
      observe({
        event: 'links_short',
        instance_id: instanceId,
        source,
        replicas: replicaCount(),
        links_per_replica: linksPerReplica,
      });
    },
    replicaCountChanged() {
      for (const [session, source] of sessions) {
        session.fleet(replicaCount(), linksPerReplica);
        tellOfSingle(session, source);
      }
    },
    get missing() {
      const links = [...sessions.keys()].map((session) => ({
        instanceId: session.instanceId,
        keepsSeveral: !isSingle(session),
      }));
      return missingLinks(links, linksPerReplica);
    },
    get single() {
      return wantsMore() ? [...sessions.keys()].filter(isSingle).length : 0;
    },
  };
}

/** Links to one replica that the agents which hold any lack. */
export function missingLinks(
  links: Iterable<{ readonly instanceId: string; readonly keepsSeveral: boolean }>,
  linksPerReplica: number,
): number {
  const held = new Map<string, number>();
  for (const { instanceId, keepsSeveral } of links) {
    if (keepsSeveral) held.set(instanceId, (held.get(instanceId) ?? 0) + 1);
  }
  let missing = 0;
  for (const count of held.values()) missing += Math.max(0, linksPerReplica - count);
  return missing;
}
