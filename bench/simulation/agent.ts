import { createLinkKeeper, type LinkKeeper } from '../../packages/agent/src/gateway-link/link-keeper.ts';
import type { DialEnd } from '../../packages/agent/src/gateway-link/back-off.ts';
import type { Target } from '../../packages/agent/src/gateway-link/targets.ts';
import type { AgentEnd, Gateway } from './gateway.ts';
import type { VirtualClock } from './virtual-clock.ts';

export interface SimulatedAgent {
  start(): void;
  readonly dials: number;
  /** Connections that were left at the challenge, since the agent had that link. */
  readonly duplicates: number;
}

interface AgentOptions {
  readonly clock: VirtualClock;
  readonly source: string;
  readonly service: number;
  readonly namesReplicas: boolean;
  readonly maxLinks: number;
  /** The way to a gateway, for a connection that is made now; or how nobody answers: with a refusal, or not at all. */
  readonly route: (target: Target) => Gateway | 'refused' | 'silent';
  /** All addresses of the name; undefined while nobody answers. */
  readonly resolve: () => readonly string[] | undefined;
  readonly wayMs: () => number;
  readonly random: () => number;
}

/** TCP, TLS and the upgrade take three round trips before the agent can say hello. */
const WAYS_UNTIL_HELLO = 6;
const DIAL_TIMEOUT_MS = 10_000;
const RESOLVE_INTERVAL_MS = 10_000;
const RESOLVE_MS = 5;
/** Silence is noticed after a ping that is not answered: between these, as the ping was near. */
const NOTICED_MS = { least: 10_000, most: 28_000 };

/** The real keeper of links, on a virtual clock and network. */
export function createAgent(options: AgentOptions): SimulatedAgent {
  const { clock, route, random, wayMs } = options;
  const agent = { start, dials: 0, duplicates: 0 };
  let timer = 0;
  const connections = new Map<number, () => void>();

  const keeper: LinkKeeper = createLinkKeeper({
    namesReplicas: options.namesReplicas,
    maxLinks: options.maxLinks,
    resolveIntervalMs: RESOLVE_INTERVAL_MS,
    dial(id, target) {
      agent.dials++;
      const to = route(target);
      if (to === 'refused') clock.after(2 * wayMs(), () => closed(id, 0));
      else if (to === 'silent') clock.after(DIAL_TIMEOUT_MS, () => closed(id, 0));
      else clock.after(WAYS_UNTIL_HELLO * wayMs(), () => connect(id, to));
    },
    retire: (id) => connections.get(id)?.(),
    resolve: () =>
      clock.after(RESOLVE_MS, () => {
        keeper.resolved(clock.now, options.resolve());
        sleep();
      }),
    onShort: () => {},
    random,
  });

  function connect(id: number, gateway: Gateway): void {
    if (gateway.state === 'gone') {
      closed(id, 0);
      return;
    }
    let welcomedAt: number | undefined;
    let isOver = false;
    const over = (end: Partial<DialEnd> = {}): void => {
      if (isOver) return;
      isOver = true;
      connections.delete(id);
      const heldMs = welcomedAt === undefined ? 0 : clock.now - welcomedAt;
      closed(id, heldMs, end);
    };
    const tellKeeper = (tell: () => void): void => {
      if (isOver) return;
      tell();
      sleep();
    };
    const end: AgentEnd = {
      source: options.source,
      service: options.service,
      refused: (retryAfterSeconds) => over({ retryAfterMs: retryAfterSeconds * 1000 }),
      challenged(replicaId) {
        const wanted = keeper.challenged(clock.now, id, { replicaId, worker: 0 });
        sleep();
        if (wanted) return true;
        isOver = true;
        agent.duplicates++;
        return false;
      },
      welcomed(fleet) {
        if (!isOver) welcomedAt = clock.now;
        tellKeeper(() => keeper.welcomed(clock.now, id, fleet));
      },
      fleetChanged: (fleet) => tellKeeper(() => keeper.fleetChanged(clock.now, id, fleet)),
      goingAway: () => tellKeeper(() => keeper.goingAway(clock.now, id)),
      ended: over,
      fellSilent: () =>
        clock.after(NOTICED_MS.least + random() * (NOTICED_MS.most - NOTICED_MS.least), () => over()),
    };
    connections.set(id, () => {
      gateway.closed(end);
      over();
    });
    gateway.dialled(end);
  }

  function closed(id: number, heldMs: number, end: Partial<DialEnd> = {}): void {
    keeper.closed(clock.now, id, { heldMs, refused: false, full: false, retryAfterMs: 0, ...end });
    sleep();
  }

  function sleep(): void {
    const mine = ++timer;
    const at = keeper.wakeAt;
    if (at === Infinity) return;
    clock.after(at - clock.now, () => {
      if (mine !== timer) return;
      keeper.tick(clock.now);
      sleep();
    });
  }

  function start(): void {
    keeper.start(clock.now);
    sleep();
  }

  return agent;
}
