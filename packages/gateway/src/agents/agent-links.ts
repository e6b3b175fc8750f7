import { FLEET_FEATURE } from '@svc/protocol';
import type { Observe } from '../telemetry/events.ts';
import type { AgentSession } from './agent-session.ts';

/** The links that agents hold to this process, compared with those that they should hold. */
export interface AgentLinks {
  /** Whether this process takes a link of that agent process: a further one, or one that replaces its only link here. */
  mayAdd(instanceId: string): boolean;
  add(session: AgentSession, source: string): void;
  remove(session: AgentSession): void;
  /** A peer that claims to be this agent process closed its connection after the challenge. */
  leftAtChallenge(instanceId: string, source: string): void;
  /** Tells the connected agents; new ones learn it from their welcome. */
  replicaCountChanged(): void;
  /** Links to this replica that the connected agents lack. */
  readonly missing: number;
  /** Agents that hold one link because they are too old to hold more. */
  readonly single: number;
}

export interface AgentLinksOptions {
  readonly replicaCount: () => number;
  readonly linksPerReplica: number;
  readonly maxLinks: number | undefined;
  readonly observe: Observe;
  readonly now: () => number;
}

/** An agent finds a dozen replicas in less time; one that gets here again and again for longer finds no other. */
const SHORT_AFTER_MS = 25_000;
/** Agents that search in vain dial every 36 s at least. If this were longer, the short searches of a roll-out would count as one. */
const SEARCH_ENDED_MS = 45_000;
/** How many old agents are remembered as reported: each reconnects with the same id. */
const TOLD_MAX = 1000;

interface Search {
  readonly since: number;
  last: number;
  told: boolean;
}

export function createAgentLinks(options: AgentLinksOptions): AgentLinks {
  const { replicaCount, linksPerReplica, maxLinks, observe, now } = options;
  /** With the source of each. */
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
      // Any peer can claim to be an agent process; only connected ones take memory.
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

/** Links to one replica that agents lack which hold at least one. */
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
