/** Where to dial: neither is the host name of the URL, wherever that leads. */
export interface Target {
  /** One of the addresses of that name. */
  readonly address?: string;
  /** For `{replica}` in the URL. */
  readonly replica?: number;
}

/** Ways to the replicas of a gateway, and what came of dialling them. */
export interface Targets {
  /** Where to dial next; `linksTo` says how many links to a replica are held or about to be. */
  choose(situation: Situation): Target;
  reached(target: Target, replicaId: string): void;
  failed(target: Target): void;
  /** The addresses that the name has now; true where one is new. */
  resolved(addresses: readonly string[]): boolean;
}

export interface Situation {
  readonly now: number;
  /** Undefined before a gateway has said it. */
  readonly replicaCount: number | undefined;
  readonly linksPerReplica: number;
  readonly linksTo: (replicaId: string) => number;
}

interface Way {
  readonly target: Target;
  dialledAt: number;
  /** Where it led last. */
  replicaId: string | undefined;
  /** In a row. */
  failures: number;
}

/** A way that fails so often is tried no more often than those that lead where links are held already. */
const FAILURES_MAX = 2;
/** Before the number of replicas is known: the highest number that is tried, between tries of number 0. */
const REPLICAS_GUESSED = 16;

export function createTargets(namesReplicas: boolean): Targets {
  const ways = new Map<string, Way>();
  let addresses: readonly string[] = [];
  let guesses = 0;

  function wayOf(target: Target): Way {
    const key = JSON.stringify(target);
    const known = ways.get(key);
    if (known !== undefined) return known;
    const way: Way = { target, dialledAt: -Infinity, replicaId: undefined, failures: 0 };
    ways.set(key, way);
    return way;
  }

  function candidates(replicaCount: number | undefined): readonly Target[] {
    if (!namesReplicas) return addresses.length > 1 ? addresses.map((address) => ({ address })) : [{}];
    if (replicaCount !== undefined)
      return Array.from({ length: replicaCount }, (_, replica) => ({ replica }));
    const guess = guesses++;
    return [{ replica: guess % 2 === 0 ? 0 : 1 + (((guess - 1) / 2) % (REPLICAS_GUESSED - 1)) }];
  }

  return {
    choose({ now, replicaCount, linksPerReplica, linksTo }) {
      const found = candidates(replicaCount).map(wayOf);
      // Fewer ways than replicas: some lead to several.
      const ownWays = found.length >= (replicaCount ?? 1);
      const isLast = ({ replicaId, failures }: Way): boolean =>
        ownWays &&
        (failures > FAILURES_MAX || (replicaId !== undefined && linksTo(replicaId) >= linksPerReplica));
      const [best] = found.toSorted(
        (a, b) => Number(isLast(a)) - Number(isLast(b)) || a.dialledAt - b.dialledAt,
      );
      if (best === undefined) return {};
      best.dialledAt = now;
      return best.target;
    },
    reached(target, replicaId) {
      const way = ways.get(JSON.stringify(target));
      if (way === undefined) return;
      way.replicaId = replicaId;
      way.failures = 0;
    },
    failed(target) {
      const way = ways.get(JSON.stringify(target));
      if (way === undefined) return;
      way.replicaId = undefined;
      way.failures++;
    },
    resolved(now) {
      const isNew = now.some((address) => !addresses.includes(address));
      for (const address of addresses) {
        if (!now.includes(address)) ways.delete(JSON.stringify({ address }));
      }
      addresses = now;
      return isNew;
    },
  };
}
