import { afterLoss, FRESH, type BackOff, type DialEnd } from './back-off.ts';
import { FRUITLESS_PER_LINK, jitter, seekPause, SLOW_JITTER } from './link-slots.ts';
import type { Aftermath, Dialled, Held, Place, Slot, SlotState } from './link-slots.ts';
import type { Situation, Target, Targets } from './targets.ts';

/**
 * Decides, for `LinkKeeper`, how links are replaced when the agent offers something else than before: one after the other,
 * so that the others take the calls meanwhile. An heir is dialled until it reaches the worker of a stale link. It gets that
 * link's slot when the gateway counts the heir, or when the stale link is lost.
 */
export interface LinkRenewal {
  /** The number of the present offer. */
  readonly generation: number;
  /** Links, also those that are being made, whose offer is not the newest. */
  readonly stale: number;
  /** When `seek` has something to do; Infinity for never. */
  readonly wakeAt: number;
  /** Whether the connection is the heir. */
  has(id: number): boolean;
  /** The agent has another offer from now on. */
  begin(now: number): void;
  /** Dials for the next stale link, if there is one and no heir is under way. */
  seek(now: number): void;
  challenged(now: number, id: number, place: Place): boolean;
  welcomed(now: number, id: number): void;
  counted(now: number, id: number): void;
  goingAway(now: number, id: number): void;
  lost(now: number, id: number, end: DialEnd): Aftermath;
  /** The link of that slot is lost, or will be: true if the heir has the slot now. */
  inherit(now: number, slot: Slot): boolean;
}

export interface LinkRenewalOptions {
  readonly slots: () => readonly Slot[];
  readonly targets: Targets;
  readonly situation: (now: number) => Situation;
  readonly wanted: () => number;
  readonly isDuplicate: (slot: Slot, place: Place) => boolean;
  readonly newId: () => number;
  readonly dial: (id: number, target: Target) => void;
  /** The link has no slot from now on. */
  readonly leave: (link: Pick<Held, 'id' | 'place'>) => void;
  /** Ends the link once its calls are answered. */
  readonly retire: (id: number) => void;
  readonly random: () => number;
}

type Heir =
  | { readonly name: 'waiting'; readonly until: number }
  | (Dialled & { readonly name: 'dialling'; readonly target: Target })
  /** It has reached the worker of that slot's link. */
  | (Dialled & { readonly name: 'claimed'; readonly place: Place; readonly slot: Slot })
  | Welcomed;

interface Welcomed extends Dialled {
  readonly name: 'welcomed';
  readonly place: Place;
  readonly slot: Slot;
  readonly since: number;
}

const SLOW_SEEK_MS = 5000;

export function createLinkRenewal(options: LinkRenewalOptions): LinkRenewal {
  const { slots, targets, situation, isDuplicate, random } = options;
  let generation = 0;
  let heir: Heir | undefined;
  let backOff: BackOff = FRESH;
  let fruitless = 0;

  const isStale = (state: SlotState): boolean => 'generation' in state && state.generation < generation;
  const isFruitless = (): boolean => fruitless >= FRUITLESS_PER_LINK * options.wanted();

  function staleLinks(): readonly { readonly slot: Slot; readonly place: Place }[] {
    return slots().flatMap((slot) =>
      slot.state.name === 'held' && isStale(slot.state) ? [{ slot, place: slot.state.place }] : [],
    );
  }

  function seek(now: number): void {
    heir = undefined;
    const stale = staleLinks();
    if (stale.length === 0) return;
    const all = situation(now);
    // Targets are chosen as if the stale links were missing.
    const linksTo = (replicaId: string): number =>
      all.linksTo(replicaId) - stale.filter(({ place }) => place.replicaId === replicaId).length;
    const target = targets.choose({ ...all, linksTo });
    const id = options.newId();
    heir = { name: 'dialling', id, generation, target };
    options.dial(id, target);
  }

  function gotElsewhere(now: number): void {
    fruitless++;
    const pause = isFruitless() ? jitter(SLOW_SEEK_MS, SLOW_JITTER, random()) : seekPause(random());
    heir = { name: 'waiting', until: now + pause };
  }

  /** Ends an heir whose slot no longer needs it. */
  function drop(now: number, link: Pick<Held, 'id' | 'place'>): void {
    options.leave(link);
    options.retire(link.id);
    seek(now);
  }

  function take(now: number, { slot, name: _name, ...link }: Welcomed): void {
    const before = slot.state;
    slot.state = { ...link, name: 'held' };
    backOff = FRESH;
    fruitless = 0;
    if (before.name === 'held') {
      options.leave(before);
      options.retire(before.id);
    }
    seek(now);
  }

  return {
    get generation() {
      return generation;
    },
    get stale() {
      return slots().filter(({ state }) => isStale(state)).length;
    },
    get wakeAt() {
      return heir?.name === 'waiting' ? heir.until : Infinity;
    },
    has: (id) => heir !== undefined && 'id' in heir && heir.id === id,
    begin(now) {
      generation += 1;
      backOff = FRESH;
      fruitless = 0;
      if (heir === undefined || heir.name === 'waiting') seek(now);
    },
    seek(now) {
      if (heir === undefined || (heir.name === 'waiting' && now >= heir.until)) seek(now);
    },
    challenged(now, id, place) {
      if (heir?.name !== 'dialling' || heir.id !== id) return false;
      targets.reached(heir.target, place.replicaId, situation(now).linksTo);
      const stale = staleLinks();
      const there = stale.find((link) => isSame(link.place, place));
      // If no dial reaches a stale link's worker any more, for example since a balancer has changed, any free place will do.
      const free = (): (typeof stale)[number] | undefined =>
        isFruitless() ? stale.find(({ slot }) => !isDuplicate(slot, place)) : undefined;
      const slot = (there ?? free())?.slot;
      if (slot === undefined) {
        gotElsewhere(now);
        return false;
      }
      heir = { name: 'claimed', id, generation: heir.generation, place, slot };
      return true;
    },
    welcomed(now, id) {
      if (heir?.name !== 'claimed' || heir.id !== id) return;
      const { slot } = heir;
      const welcomed: Welcomed = { ...heir, name: 'welcomed', since: now };
      heir = welcomed;
      const { state } = slot;
      const isKept = slots().includes(slot);
      if (isKept && state.name === 'held' && isStale(state)) return;
      // The stale link is lost already.
      if (isKept && (state.name === 'waiting' || state.name === 'seeking' || state.name === 'dialling')) {
        take(now, welcomed);
      } else drop(now, welcomed);
    },
    counted(now, id) {
      if (heir?.name !== 'welcomed' || heir.id !== id) return;
      if (slots().includes(heir.slot)) take(now, heir);
      else drop(now, heir);
    },
    goingAway(now, id) {
      if (heir?.name !== 'welcomed' || heir.id !== id) return;
      options.leave(heir);
      gotElsewhere(now);
    },
    lost(now, id, end) {
      if (heir === undefined || heir.name === 'waiting' || heir.id !== id) return 'left';
      if (end.full) {
        gotElsewhere(now);
        return 'left';
      }
      if (heir.name === 'dialling' && !end.refused) targets.failed(heir.target);
      const { state, waitMs } = afterLoss(backOff, { ...end, at: now }, random());
      backOff = state;
      heir = { name: 'waiting', until: now + waitMs };
      return { retryInMs: waitMs };
    },
    inherit(now, slot) {
      if (heir?.name !== 'welcomed' || heir.slot !== slot) return false;
      take(now, heir);
      return true;
    },
  };
}

function isSame(a: Place, b: Place): boolean {
  return a.replicaId === b.replicaId && a.worker === b.worker;
}
