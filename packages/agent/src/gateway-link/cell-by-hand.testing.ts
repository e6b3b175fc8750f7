import { createLinkKeeper, type LinkKeeper, type LinksShort } from './link-keeper.ts';
import type { DialEnd } from './back-off.ts';
import type { Fleet, Place } from './link-slots.ts';
import type { Target } from './targets.ts';

/** How a balancer in front of the replicas chooses; `addresses`: there is none, the name has an address for each. */
export type Balancer = 'random' | 'round robin' | 'always the first' | 'addresses' | 'numbers';

export interface CellOptions {
  readonly replicas: number;
  readonly workers?: number;
  readonly linksPerReplica?: number;
  readonly balancer: Balancer;
  readonly maxLinks?: number;
  /** Whether a link gets a go-away when the gateway counts another to the same worker. */
  readonly supersedes?: boolean;
  /** In [0, 1). */
  readonly random: () => number;
}

interface Replica {
  id: string;
  isUp: boolean;
  isLeaving: boolean;
  /** The one after the worker that took the last connection takes the next. */
  next: number;
}

interface Link {
  readonly replica: Replica;
  readonly place: Place;
  since: number;
  readonly edition: number;
  /** The gateway sends calls over it. */
  isCounted: boolean;
  isRetired: boolean;
}

const LATENCY_MS = 5;
const END: DialEnd = { heldMs: 0, refused: false, full: false, retryAfterMs: 0 };

/** Replicas behind a balancer and one agent that keeps links to them, on a clock that only `run` moves. */
export interface Cell {
  readonly keeper: LinkKeeper;
  readonly now: number;
  /** When each connection was dialled. */
  readonly dials: readonly { readonly at: number; readonly target: Target }[];
  readonly shorts: readonly LinksShort[];
  readonly retired: readonly number[];
  /** Held and claimed, as `replica/worker`. */
  links(): readonly string[];
  /** Those over which the gateway sends calls, the newest edition of each worker's. */
  counted(): ReadonlyMap<string, number>;
  /** `always the first` is always this one from now on; links of others stay. */
  lead(replica: number): void;
  /** The agent offers another edition from now on. */
  renew(): void;
  run(ms: number): void;
  /** Says the number of replicas to every link, as a gateway that counts does. */
  announce(fleet: Partial<Fleet>): void;
  scale(replicas: number): void;
  /** All its links are lost; it may be dialled again once it is back, under another id. */
  kill(replica: number): void;
  start(replica: number): void;
  /** Every link is told; nothing new gets there, and the links end a second later. */
  leave(replica: number): void;
  /** What dialling comes to from now on instead of a challenge. */
  answer(end: Partial<DialEnd> | undefined): void;
}

export function createCell(options: CellOptions): Cell {
  const { balancer, workers = 1, supersedes = false, random } = options;
  let fleet: Fleet = {
    replicaCount: options.replicas,
    linksPerReplica: options.linksPerReplica ?? 1,
  };
  let now = 0;
  let order = 0;
  let born = 0;
  let turn = 0;
  let edition = 0;
  let first = 0;
  let instead: Partial<DialEnd> | undefined;
  const due: { at: number; order: number; act: () => void }[] = [];
  const open = new Map<number, Link>();
  const dials: { at: number; target: Target }[] = [];
  const shorts: LinksShort[] = [];
  const retired: number[] = [];
  const replicas: Replica[] = [];

  const fresh = (): Replica => ({ id: `r${born++}`, isUp: true, isLeaving: false, next: 0 });
  const later = (ms: number, act: () => void): void => void due.push({ at: now + ms, order: order++, act });
  const takes = ({ isUp, isLeaving }: Replica): boolean => isUp && !isLeaving;

  function reach({ address, replica }: Target): Replica | undefined {
    if (replica !== undefined) return replicas[replica];
    if (address !== undefined) return replicas[Number(address.slice(1))];
    const live = replicas.filter(takes);
    if (balancer === 'always the first') return live[first];
    if (balancer === 'round robin') return live[turn++ % Math.max(1, live.length)];
    return live[Math.floor(random() * live.length)];
  }

  function dial(id: number, target: Target): void {
    dials.push({ at: now, target });
    const offered = edition;
    later(LATENCY_MS, () => {
      const replica = instead === undefined ? reach(target) : undefined;
      if (replica === undefined || !takes(replica)) {
        keeper.closed(now, id, { ...END, ...instead });
        return;
      }
      const place = { replicaId: replica.id, worker: replica.next++ % workers };
      if (!keeper.challenged(now, id, place)) {
        keeper.closed(now, id, END);
        return;
      }
      const link: Link = {
        replica,
        place,
        since: now,
        edition: offered,
        isCounted: false,
        isRetired: false,
      };
      open.set(id, link);
      later(LATENCY_MS, () => {
        if (!open.has(id)) return;
        link.since = now;
        keeper.welcomed(now, id, fleet);
        later(LATENCY_MS, () => count(id, link));
      });
    });
  }

  function count(id: number, link: Link): void {
    if (!open.has(id)) return;
    link.isCounted = true;
    if (supersedes) {
      for (const [other, { place }] of open) {
        if (other !== id && nameOf(place) === nameOf(link.place)) keeper.goingAway(now, other);
      }
    }
    later(LATENCY_MS, () => keeper.isHeir(id) && keeper.counted(now, id));
  }

  function end(id: number): void {
    const link = open.get(id);
    if (link === undefined) return;
    open.delete(id);
    keeper.closed(now, id, { ...END, heldMs: now - link.since });
  }

  const linksOf = (replica: Replica): number[] =>
    [...open].flatMap(([id, link]) => (link.replica === replica ? [id] : []));

  const keeper = createLinkKeeper({
    namesReplicas: balancer === 'numbers',
    maxLinks: options.maxLinks ?? 64,
    resolveIntervalMs: 10_000,
    dial,
    retire(id) {
      retired.push(id);
      const link = open.get(id);
      if (link !== undefined) link.isRetired = true;
      later(LATENCY_MS, () => end(id));
    },
    resolve() {
      const addresses = replicas.flatMap(({ isUp }, at) => (isUp ? [`a${at}`] : []));
      later(LATENCY_MS, () => keeper.resolved(now, balancer === 'addresses' ? addresses : ['a0']));
    },
    onShort: (short) => shorts.push(short),
    random,
  });

  function step(until: number): boolean {
    const [next] = due.toSorted((a, b) => a.at - b.at || a.order - b.order);
    const wakeAt = keeper.wakeAt;
    const at = Math.max(now, Math.min(next?.at ?? Infinity, wakeAt));
    if (at > until) return false;
    now = at;
    if (next !== undefined && next.at <= wakeAt) {
      due.splice(due.indexOf(next), 1);
      next.act();
    } else keeper.tick(now);
    return true;
  }

  for (let count = 0; count < options.replicas; count++) replicas.push(fresh());
  keeper.start(now);
  return {
    keeper,
    get now() {
      return now;
    },
    dials,
    shorts,
    retired,
    links: () => Array.from(open.values(), ({ place }) => nameOf(place)),
    counted() {
      const newest = new Map<string, number>();
      for (const { place, edition: of, isCounted, isRetired } of open.values()) {
        if (!isCounted || isRetired) continue;
        newest.set(nameOf(place), Math.max(of, newest.get(nameOf(place)) ?? 0));
      }
      return newest;
    },
    lead(replica) {
      first = replica;
    },
    renew() {
      edition += 1;
      keeper.renew(now);
    },
    run(ms) {
      const until = now + ms;
      while (step(until));
      now = until;
    },
    announce(changed) {
      fleet = { ...fleet, ...changed };
      for (const id of open.keys()) keeper.fleetChanged(now, id, fleet);
    },
    scale(count) {
      while (replicas.length < count) replicas.push(fresh());
      for (const gone of replicas.splice(count)) {
        gone.isUp = false;
        for (const id of linksOf(gone)) end(id);
      }
    },
    kill(at) {
      const replica = replicas[at];
      if (replica === undefined) return;
      replica.isUp = false;
      for (const id of linksOf(replica)) end(id);
    },
    start(at) {
      if (replicas[at]?.isUp === false) replicas[at] = fresh();
    },
    leave(at) {
      const replica = replicas[at];
      if (replica === undefined || !takes(replica)) return;
      replica.isLeaving = true;
      for (const id of linksOf(replica)) keeper.goingAway(now, id);
      later(1000, () => {
        replica.isUp = false;
        for (const id of linksOf(replica)) end(id);
      });
    },
    answer(end_) {
      instead = end_;
    },
  };
}

function nameOf({ replicaId, worker }: Place): string {
  return `${replicaId}/${worker}`;
}
