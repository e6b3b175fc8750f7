/** What a gateway says of itself, and how many links an agent may hold. */
export interface Fleet {
  readonly replicaCount: number;
  readonly linksPerReplica: number;
}

/** How many links to hold. */
export interface LinkPlan {
  /** To one replica at most. */
  readonly perReplica: number;
  readonly wanted: number;
  /** What the gateway wants is more than the agent may hold. */
  readonly capped: boolean;
}

export const ONE_LINK: Fleet = { replicaCount: 1, linksPerReplica: 1 };

/** Where there are too many for `maxLinks`, each replica has as many as all others; where they are too many for that, one. */
export function planLinks({ replicaCount, linksPerReplica }: Fleet, maxLinks: number): LinkPlan {
  if (replicaCount * linksPerReplica <= maxLinks) {
    return { perReplica: linksPerReplica, wanted: replicaCount * linksPerReplica, capped: false };
  }
  const perReplica = Math.max(1, Math.floor(maxLinks / replicaCount));
  return { perReplica, wanted: Math.min(maxLinks, replicaCount * perReplica), capped: true };
}
