/** Where to dial. Without both fields: the host name of the URL. */
export interface Target {
  /** One of the addresses of the host name. */
  readonly address?: string;
  /** Replaces `{replica}` in the URL. */
  readonly replica?: number;
}

/** The targets of a gateway, and what dialling them has shown. */
export interface Targets {
  /** Where to dial next; `linksTo` counts the links to a replica that are held or being made. */
  choose(situation: Situation): Target;
  reached(target: Target, replicaId: string, linksTo: Situation['linksTo']): void;
  failed(target: Target): void;
  /** Whether each target leads to a replica of its own whose links are all held, so that more dials find nothing. */
  isExhausted(situation: Situation): boolean;
  /** Takes the present addresses of the name; true if one is new. */
  resolved(addresses: readonly string[]): boolean;
}

export interface Situation {
  readonly now: number;
  /** Undefined before a gateway has told it. */
  readonly replicaCount: number | undefined;
  readonly linksPerReplica: number;
  readonly linksTo: (replicaId: string) => number;
}

interface Way {
  readonly target: Target;
  dialledAt: number;
  /** The replica that it reached last, and how often in a row. */
  replicaId: string | undefined;
  visits: number;
  /** In a row. */
  failures: number;
}

/** A target with more failures is tried only after others. */
const FAILURES_MAX = 2;
/** A target that led to one replica so often is taken to lead to no other, unless a balancer shows. */
const SURE_AFTER = 2;
/** Numbers of replicas to try, alternating with 0, before their number is known. */
const REPLICAS_GUESSED = 16;

export function createTargets(namesReplicas: boolean): Targets {
  const ways = new Map<string, Way>();
  let addresses: readonly string[] = [];
  let guesses = 0;
  /** A target has led to another replica although the one before was there: it is a balancer. */
  let isBalanced = false;

  function wayOf(target: Target): Way {
    const key = keyOf(target);
    const known = ways.get(key);
    if (known !== undefined) return known;
    const way: Way = { target, dialledAt: -Infinity, replicaId: undefined, visits: 0, failures: 0 };
    ways.set(key, way);
    return way;
  }

  const isFull = ({ replicaId }: Way, { linksPerReplica, linksTo }: Situation): boolean =>
    replicaId !== undefined && linksTo(replicaId) >= linksPerReplica;

  /** The target with the lowest rank is dialled first. */
  function rank(way: Way, situation: Situation): number {
    if (isBalanced) return 0;
    if (isFull(way, situation)) return way.visits < SURE_AFTER ? 2 : 3;
    return way.failures > FAILURES_MAX ? 1 : 0;
  }

  function candidates(replicaCount: number | undefined): readonly Target[] {
    if (!namesReplicas) return addresses.length > 1 ? addresses.map((address) => ({ address })) : [{}];
    if (replicaCount !== undefined)
      return Array.from({ length: replicaCount }, (_, replica) => ({ replica }));
    const guess = guesses++;
    return [{ replica: guess % 2 === 0 ? 0 : 1 + (((guess - 1) / 2) % (REPLICAS_GUESSED - 1)) }];
  }

  return {
    choose(situation) {
      const ranked = candidates(situation.replicaCount)
        .map(wayOf)
        .map((way) => ({ way, rank: rank(way, situation) }));
      const [best] = ranked.toSorted((a, b) => a.rank - b.rank || a.way.dialledAt - b.way.dialledAt);
      if (best === undefined) return {};
      best.way.dialledAt = situation.now;
      return best.way.target;
    },
    reached(target, replicaId, linksTo) {
      const way = wayOf(target);
      const before = way.replicaId;
      isBalanced ||= before !== undefined && before !== replicaId && linksTo(before) > 0;
      way.visits = before === replicaId ? way.visits + 1 : 1;
      way.replicaId = replicaId;
      way.failures = 0;
    },
    failed(target) {
      const way = wayOf(target);
      way.replicaId = undefined;
      way.failures++;
    },
    isExhausted(situation) {
      if (isBalanced || situation.replicaCount === undefined) return false;
      const found = candidates(situation.replicaCount).map(wayOf);
      return found.length > 1 && found.every((way) => way.visits >= SURE_AFTER && isFull(way, situation));
    },
    resolved(now) {
      const isNew = now.some((address) => !addresses.includes(address));
      for (const address of addresses) {
        if (!now.includes(address)) ways.delete(address);
      }
      addresses = now;
      return isNew;
    },
  };
}

function keyOf({ address, replica }: Target): string {
  return address ?? String(replica ?? '');
}
