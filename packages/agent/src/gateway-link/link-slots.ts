import type { BackOff } from './back-off.ts';
import type { Target } from './targets.ts';

/** What a connection has reached; no other link of the agent reaches the same. */
export interface Place {
  readonly replicaId: string;
  /** 0 if the gateway does not say. */
  readonly worker: number;
}

/** What follows from the end of a connection; `left`: nothing. `retryInMs` is undefined if its end causes no dial. */
export type Aftermath = 'left' | { readonly retryInMs: number | undefined };

export type SlotState =
  | { readonly name: 'waiting'; readonly until: number }
  | { readonly name: 'seeking' }
  | (Dialled & { readonly name: 'dialling'; readonly target: Target })
  | (Dialled & { readonly name: 'claimed'; readonly place: Place })
  | (Dialled & { readonly name: 'held'; readonly place: Place; readonly since: number });

export interface Dialled {
  readonly id: number;
  /** The number of its offer. */
  readonly generation: number;
}

export type Held = SlotState & { readonly name: 'held' };

export interface Slot {
  backOff: BackOff;
  state: SlotState;
}

/** What a gateway says of itself. */
export interface Fleet {
  readonly replicaCount: number;
  readonly linksPerReplica: number;
}

/** How many links to hold. */
export interface LinkPlan {
  /** The most to one replica. */
  readonly perReplica: number;
  readonly wanted: number;
  /** The gateway wants more than the agent may hold. */
  readonly capped: boolean;
}

export const ONE_LINK: Fleet = { replicaCount: 1, linksPerReplica: 1 };

/** If `maxLinks` allows fewer, each replica gets equally many; if it allows less than one for each, some get one. */
export function planLinks({ replicaCount, linksPerReplica }: Fleet, maxLinks: number): LinkPlan {
  if (replicaCount * linksPerReplica <= maxLinks) {
    return { perReplica: linksPerReplica, wanted: replicaCount * linksPerReplica, capped: false };
  }
  const perReplica = Math.max(1, Math.floor(maxLinks / replicaCount));
  return { perReplica, wanted: Math.min(maxLinks, replicaCount * perReplica), capped: true };
}

/** Dials in a row that did not reach the wanted worker, for each wanted link, after which a search goes on slowly. */
export const FRUITLESS_PER_LINK = 4;
export const SLOW_JITTER = 0.2;
const SEEK_MS = 250;
const SEEK_JITTER = 0.5;

/** `ms`, more or less by at most this share of it; `random` in [0, 1). */
export function jitter(ms: number, share: number, random: number): number {
  return ms * (1 - share + 2 * share * random);
}

/** The pause between two dials that seek a worker. */
export function seekPause(random: number): number {
  return jitter(SEEK_MS, SEEK_JITTER, random);
}
