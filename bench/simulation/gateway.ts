import { createUnauthenticatedPeers } from '../../packages/gateway/src/agents/unauthenticated.ts';
import type { Fleet } from '../../packages/agent/src/gateway-link/link-slots.ts';
import type { VirtualClock } from './virtual-clock.ts';

/** What the agent's end of a connection is told; each takes half a round trip to get there. */
export interface AgentEnd {
  /** For the bounds of unauthenticated peers. */
  readonly source: string;
  readonly service: number;
  refused(retryAfterSeconds: number): void;
  /** False: it leaves unsigned. */
  challenged(replicaId: string): boolean;
  welcomed(fleet: Fleet): void;
  goingAway(): void;
  fleetChanged(fleet: Fleet): void;
  /** The connection ends, and the agent's host is told. */
  ended(): void;
  /** It ends when the agent notices by itself. */
  fellSilent(): void;
}

/** A replica of one worker: the real bounds of its agent endpoint, and the time that its core takes for handshakes. */
export interface Gateway {
  readonly replicaId: string;
  readonly state: 'serving' | 'leaving' | 'gone';
  /** Links whose agents may be called. */
  readonly links: number;
  linksOf(service: number): number;
  /** Connections, for a balancer that looks for the least of them. */
  readonly connections: number;
  /** Connections that came, and those of them that were answered 429. */
  readonly seen: { readonly dials: number; readonly refusals: number };
  dialled(agent: AgentEnd): void;
  /** Of the link of that agent. */
  closed(agent: AgentEnd): void;
  setFleet(fleet: Fleet): void;
  /** As after SIGTERM. */
  leave(): void;
  /** As after SIGKILL. */
  kill(): void;
  /** Its host is gone, and nobody is told. */
  darken(): void;
}

/** Measured on one core: a whole handshake with its description, and one that ends at the challenge. */
const HANDSHAKE_MS = 3;
const CHALLENGE_MS = 0.5;

export function createGateway(options: {
  readonly replicaId: string;
  readonly clock: VirtualClock;
  readonly fleet: Fleet;
  /** Half a round trip. */
  readonly wayMs: () => number;
}): Gateway {
  const { replicaId, clock, wayMs } = options;
  const peers = createUnauthenticatedPeers(() => clock.now);
  const open = new Set<AgentEnd>();
  const welcomed = new Set<AgentEnd>();
  const linked = new Set<AgentEnd>();
  const byService = new Map<number, number>();
  let { fleet } = options;
  let state: Gateway['state'] = 'serving';
  let busyUntil = 0;
  const seen = { dials: 0, refusals: 0 };

  /** One core does one thing after the other. */
  function work(ms: number, done: () => void): void {
    busyUntil = Math.max(busyUntil, clock.now) + ms;
    clock.after(busyUntil - clock.now, () => {
      if (state !== 'gone') done();
    });
  }

  /** A connection keeps the order of what is sent over it. */
  const arrivesAt = new WeakMap<AgentEnd, number>();

  function tell(agent: AgentEnd, run: () => void): void {
    const at = Math.max(clock.now + wayMs(), arrivesAt.get(agent) ?? 0);
    arrivesAt.set(agent, at);
    clock.after(at - clock.now, run);
  }

  function count(agent: AgentEnd, change: 1 | -1): void {
    byService.set(agent.service, (byService.get(agent.service) ?? 0) + change);
  }

  function end(tellAgent: (agent: AgentEnd) => void): void {
    state = 'gone';
    for (const agent of open) tellAgent(agent);
    open.clear();
    welcomed.clear();
    linked.clear();
    byService.clear();
  }

  const endAll = (): void => end((agent) => tell(agent, () => agent.ended()));

  return {
    replicaId,
    get state() {
      return state;
    },
    get links() {
      return linked.size;
    },
    linksOf: (service) => byService.get(service) ?? 0,
    get connections() {
      return open.size;
    },
    seen,
    dialled(agent) {
      seen.dials++;
      const decision = peers.accept(agent.source);
      if (!decision.ok) {
        seen.refusals++;
        tell(agent, () => agent.refused(decision.retryAfterSeconds));
        return;
      }
      const { peer } = decision;
      open.add(agent);
      const close = (atChallenge: boolean): void => {
        peer.closed(atChallenge);
        open.delete(agent);
      };
      work(CHALLENGE_MS, () =>
        tell(agent, () => {
          if (!agent.challenged(replicaId)) {
            tell(agent, () => close(true));
            return;
          }
          tell(agent, () =>
            work(HANDSHAKE_MS, () => {
              if (!open.has(agent)) return;
              peer.authenticated();
              welcomed.add(agent);
              const said = fleet;
              tell(agent, () => agent.welcomed(said));
              // Its description is asked for and comes.
              tell(agent, () =>
                tell(agent, () => {
                  if (state !== 'serving' || !open.has(agent)) return;
                  linked.add(agent);
                  count(agent, 1);
                }),
              );
            }),
          );
        }),
      );
    },
    closed(agent) {
      welcomed.delete(agent);
      if (linked.delete(agent)) count(agent, -1);
      open.delete(agent);
    },
    setFleet(next) {
      if (next.replicaCount === fleet.replicaCount && next.linksPerReplica === fleet.linksPerReplica) return;
      fleet = next;
      for (const agent of welcomed) tell(agent, () => agent.fleetChanged(next));
    },
    leave() {
      state = 'leaving';
      for (const agent of open) tell(agent, () => agent.goingAway());
      clock.after(DRAINED_MS, endAll);
    },
    kill: endAll,
    darken: () => end((agent) => agent.fellSilent()),
  };
}

/** Calls are short: so long after its go-away a gateway has answered them all, as a rule. */
const DRAINED_MS = 1000;
