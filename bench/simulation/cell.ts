import { createRandom } from '@svc/testkit';
import type { Target } from '../../packages/agent/src/gateway-link/targets.ts';
import { createAgent, type SimulatedAgent } from './agent.ts';
import { createGateway, type Gateway } from './gateway.ts';
import { createVirtualClock, type VirtualClock } from './virtual-clock.ts';

/** How agents come to the replicas: by the addresses of a name, by numbers in host names, or by a balancer that chooses so. */
export const WAYS = ['addresses', 'numbers', 'random', 'least', 'source'] as const;
export type Way = (typeof WAYS)[number];

/** A place of a replica: a pod, or a machine. */
interface Slot {
  readonly gateway: Gateway;
  /** Whether callers are sent there. */
  isReady: boolean;
}

/** Replicas that share a host name, and their agents. */
export interface Cell {
  readonly way: Way;
  readonly clock: VirtualClock;
  readonly agents: readonly SimulatedAgent[];
  readonly gateways: readonly Gateway[];
  /** Adds one, in place of the one with this number if given. Whoever looks for replicas finds it at once. */
  addReplica(number?: number): void;
  gatewayOf(number: number): Gateway | undefined;
  /** What the name leads to stays as it is now, for so long. */
  freezeNames(forMs: number): void;
  /** Whether agents that are routed there by a dead address hear of it at once. */
  setSilent(gateway: Gateway): void;
  startAgents(withinMs: number): void;
  /** Share of the links that agents and the replicas that serve should have. */
  readonly linked: number;
  /** Share of calls that find no agent at the first replica, and none at a second one either. */
  unanswered(): { readonly first: number; readonly second: number };
}

const SERVICES = 100;
const EACH_SERVICE = Array.from({ length: SERVICES }, (_, service) => service);
const LINKS_PER_REPLICA = 1;
/** From one end to the other: 20 ms there and back, half as much again at most. */
const WAY_MS = 10;
/** How often replicas look how many there are. */
const COUNT_MS = 5000;
const READY_AFTER_MS = 15_000;
const NO_NEW_SERVICE_MS = 2000;

export function createCell(options: {
  readonly seed: number;
  readonly agents: number;
  readonly replicas: number;
  readonly way: Way;
  /** How many agents have one source address, as behind a NAT. */
  readonly agentsPerSource: number;
}): Cell {
  const { way } = options;
  const random = createRandom(options.seed);
  const clock = createVirtualClock();
  const wayMs = (): number => WAY_MS * (1 + random() / 2);
  const slots = new Map<number, Slot>();
  const gone = new Set<Gateway>();
  /** What the name says where it is stale. */
  let frozen: ReadonlyMap<string, Gateway> | undefined;
  let ids = 0;
  let next = 0;

  const gateways = (): readonly Gateway[] => [...slots.values()].map(({ gateway }) => gateway);
  const serving = (): readonly Gateway[] => gateways().filter(({ state }) => state === 'serving');
  /** An address is of one replica only, also where the next one has its number. */
  const addresses = (): ReadonlyMap<string, Gateway> =>
    frozen ??
    new Map(
      gateways()
        .filter(({ state }) => state !== 'gone')
        .map((gateway) => [gateway.replicaId, gateway]),
    );
  const fleet = () => ({ replicaCount: Math.max(1, addresses().size), linksPerReplica: LINKS_PER_REPLICA });

  function reach(gateway: Gateway | undefined): Gateway | 'refused' | 'silent' {
    if (gateway === undefined) return 'refused';
    if (gateway.state === 'serving') return gateway;
    return gone.has(gateway) ? 'silent' : 'refused';
  }

  function balanced(source: string): Gateway | 'refused' {
    const candidates = serving();
    const fewest = Math.min(...candidates.map(({ connections }) => connections));
    const least = candidates.filter(({ connections }) => connections === fewest);
    const from = way === 'least' ? least : candidates;
    const at =
      way === 'source' ? hash(source) % Math.max(1, from.length) : Math.floor(random() * from.length);
    return from[at] ?? 'refused';
  }

  function route(source: string, target: Target): Gateway | 'refused' | 'silent' {
    if (way === 'addresses') {
      const all = [...addresses().values()];
      const to =
        target.address === undefined
          ? all[Math.floor(random() * all.length)]
          : addresses().get(target.address);
      return reach(to);
    }
    if (way === 'numbers') return reach(slots.get(target.replica ?? 0)?.gateway);
    return balanced(source);
  }

  function addReplica(number = next): void {
    next = Math.max(next, number + 1);
    const gateway = createGateway({ replicaId: `replica-${ids++}`, clock, fleet: fleet(), wayMs });
    const slot: Slot = { gateway, isReady: false };
    slots.set(number, slot);
    let services = 0;
    const startedAt = clock.now;
    let newServiceAt = startedAt;
    const settle = (): void => {
      const now = EACH_SERVICE.filter((service) => gateway.linksOf(service) > 0).length;
      if (now > services) newServiceAt = clock.now;
      services = now;
      const isSettled = services > 0 && clock.now - newServiceAt >= NO_NEW_SERVICE_MS;
      if (isSettled || clock.now - startedAt >= READY_AFTER_MS) slot.isReady = true;
      else clock.after(250, settle);
    };
    settle();
    const count = (): void => {
      if (gateway.state === 'gone') return;
      gateway.setFleet(fleet());
      clock.after(COUNT_MS, count);
    };
    clock.after(random() * COUNT_MS, count);
  }

  const agents = Array.from({ length: options.agents }, (_, at) => {
    const source = `source-${Math.floor(at / options.agentsPerSource)}`;
    return createAgent({
      clock,
      source,
      service: at % SERVICES,
      namesReplicas: way === 'numbers',
      maxLinks: 64,
      route: (target) => route(source, target),
      // A balancer has one address.
      resolve: () => (way === 'addresses' ? [...addresses().keys()] : ['balancer']),
      wayMs,
      random,
    });
  });
  for (let count = 0; count < options.replicas; count++) addReplica();
  for (const gateway of gateways()) gateway.setFleet(fleet());

  return {
    way,
    clock,
    agents,
    get gateways() {
      return serving();
    },
    addReplica,
    gatewayOf: (number) => slots.get(number)?.gateway,
    freezeNames(forMs) {
      frozen = new Map(addresses());
      clock.after(forMs, () => (frozen = undefined));
    },
    setSilent: (gateway) => void gone.add(gateway),
    startAgents(withinMs) {
      for (const agent of agents) clock.after(random() * withinMs, () => agent.start());
    },
    get linked() {
      const all = serving();
      const links = all.reduce(
        (sum, { links }) => sum + Math.min(links, agents.length * LINKS_PER_REPLICA),
        0,
      );
      return links / Math.max(1, all.length * agents.length * LINKS_PER_REPLICA);
    },
    unanswered() {
      // What a balancer does not know to be dead yet is asked, too; its retry goes elsewhere.
      const asked = [...slots.values()].filter(
        ({ gateway, isReady }) => isReady && gateway.state === 'serving',
      );
      let first = 0;
      let second = 0;
      for (const service of EACH_SERVICE) {
        const without = asked.filter(({ gateway }) => gateway.linksOf(service) === 0).length;
        first += without / asked.length;
        second +=
          asked.length < 2 ? without : (without / asked.length) * ((without - 1) / (asked.length - 1));
      }
      return asked.length === 0
        ? { first: 1, second: 1 }
        : { first: first / SERVICES, second: second / SERVICES };
    },
  };
}

/** Of a text, for choosing by it. */
function hash(text: string): number {
  let value = 2_166_136_261;
  for (const char of text) value = Math.imul(value ^ char.charCodeAt(0), 16_777_619) >>> 0;
  return value >>> 8;
}
