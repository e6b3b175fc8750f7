import { afterGoAway, afterLoss, FRESH, type DialEnd } from './back-off.ts';
import { createLinkRenewal } from './link-renewal.ts';
import { FRUITLESS_PER_LINK, jitter, ONE_LINK, planLinks, seekPause, SLOW_JITTER } from './link-slots.ts';
import type { Aftermath, Fleet, Held, LinkPlan, Place, Slot } from './link-slots.ts';
import { createTargets, type Situation, type Target } from './targets.ts';

/**
 * Decides which links an agent holds to one gateway, and when it dials. It does not act: its user dials, looks up addresses
 * and calls `tick` at `wakeAt`. All times are milliseconds of one monotonic clock.
 *
 * There is a slot for each link that is wanted: one, until a gateway has said otherwise. A slot is
 *   waiting   for its next dial, by a back-off of its own;
 *   seeking   a worker that no other slot has: it dials at the pace that all seeking slots share;
 *   dialling  until the challenge tells which worker the connection has reached;
 *   claimed   until the welcome;
 *   held      from then on.
 * A link that ends in peace leaves its slot before it is closed.
 *
 * `LinkRenewal` replaces the links one after the other when the agent offers something else than before.
 */
export interface LinkKeeper {
  start(now: number): void;
  /** The challenge tells the place; false: the agent has that link already, so the connection is closed unsigned. */
  challenged(now: number, id: number, place: Place): boolean;
  /** `fleet` is undefined if the gateway lacks the feature. */
  welcomed(now: number, id: number, fleet: Fleet | undefined): void;
  fleetChanged(now: number, id: number, fleet: Fleet): void;
  goingAway(now: number, id: number): void;
  closed(now: number, id: number, end: DialEnd): Aftermath;
  /** Undefined if the name could not be looked up. */
  resolved(now: number, addresses: readonly string[] | undefined): void;
  /** New links offer something else from now on: each present link is to be replaced. */
  renew(now: number): void;
  /** The gateway sends calls over the link; to be called for links that `isHeir` names. */
  counted(now: number, id: number): void;
  tick(now: number): void;
  /** When `tick` has something to do; Infinity for never. To be asked after each call. */
  readonly wakeAt: number;
  readonly held: number;
  readonly wanted: number;
  /** Links, also those that are being made, whose offer is not the newest. */
  readonly stale: number;
  /** Whether the connection is to replace a link. */
  isHeir(id: number): boolean;
}

export interface LinksShort {
  readonly reason: 'max_links' | 'not_found';
  readonly links: number;
  /** As the gateway says, even if the agent may not hold so many. */
  readonly wanted: number;
}

export interface LinkKeeperOptions {
  /** The host of the URL contains the number of a replica. */
  readonly namesReplicas: boolean;
  readonly maxLinks: number;
  readonly resolveIntervalMs: number;
  readonly dial: (id: number, target: Target) => void;
  /** Ends a surplus link, once its calls are answered. */
  readonly retire: (id: number) => void;
  /** Looks up all addresses of the name, and hands them to `resolved`. */
  readonly resolve: () => void;
  readonly onShort: (short: LinksShort) => void;
  /** In [0, 1). */
  readonly random: () => number;
}

const SLOW_SEEK_MS = 30_000;
/** Most losses are restarts, which take seconds. */
const SLOW_SEEK_EARLY_MS = 5000;
const EARLY_MS = 60_000;
const RESOLVE_JITTER = 0.2;
const RESOLVE_SOON_MS = 2000;
const SHORT_AFTER_MS = 60_000;

export function createLinkKeeper(options: LinkKeeperOptions): LinkKeeper {
  const { maxLinks, random } = options;
  const targets = createTargets(options.namesReplicas);
  let slots: Slot[] = [];
  /** The replicas of connections that end in peace; they are not dialled meanwhile. */
  const leaving = new Map<number, string>();
  /** What gateways said last on held links, the newest last; those without the feature say nothing. */
  const said = new Map<number, Fleet>();
  let fleet: Fleet | undefined;
  let plan: LinkPlan = planLinks(ONE_LINK, maxLinks);
  let lastId = 0;
  let fruitless = 0;
  let seekAt = 0;
  /** A gateway has asked for a pause: no slot seeks before this time. */
  let pausedUntil = -Infinity;
  let startedAt = -Infinity;
  let lostAt = -Infinity;
  let resolveAt = Infinity;
  let isResolving = false;
  let shortSince: number | undefined;
  let isShortTold = false;
  let isCapTold = false;
  const renewal = createLinkRenewal({
    slots: () => slots,
    targets,
    situation,
    wanted: () => plan.wanted,
    isDuplicate,
    newId: () => ++lastId,
    dial: options.dial,
    leave,
    retire: options.retire,
    random,
  });

  const held = (): readonly Held[] => slots.flatMap(({ state }) => (state.name === 'held' ? [state] : []));
  const slotOf = (id: number): Slot | undefined =>
    slots.find(({ state }) => 'id' in state && state.id === id);

  function placeOf({ state }: Slot): Place | undefined {
    return state.name === 'claimed' || state.name === 'held' ? state.place : undefined;
  }

  function linksTo(replicaId: string): number {
    return slots.filter((slot) => placeOf(slot)?.replicaId === replicaId).length;
  }

  function situation(now: number): Situation {
    return { now, replicaCount: fleet?.replicaCount, linksPerReplica: plan.perReplica, linksTo };
  }

  function dial(slot: Slot, now: number): void {
    seekAt = Math.max(seekAt, now + seekPause(random()));
    const target = targets.choose(situation(now));
    const id = ++lastId;
    slot.state = { name: 'dialling', id, generation: renewal.generation, target };
    options.dial(id, target);
  }

  /** A search is quick when it begins, and again when it has found something. */
  function hasten(now: number): void {
    fruitless = 0;
    const soon = now + seekPause(random());
    seekAt = seekAt > now ? Math.min(seekAt, soon) : soon;
  }

  function paceAfterDial(now: number): number {
    // Only another address, or another replica at one of them, would help.
    if (targets.isExhausted(situation(now)))
      return jitter(options.resolveIntervalMs, RESOLVE_JITTER, random());
    if (fruitless < FRUITLESS_PER_LINK * plan.wanted) return seekPause(random());
    // Without any link an agent dials as often at its start as after a loss.
    const since = held().length === 0 ? Math.max(lostAt, startedAt) : lostAt;
    return jitter(now - since < EARLY_MS ? SLOW_SEEK_EARLY_MS : SLOW_SEEK_MS, SLOW_JITTER, random());
  }

  function seekOn(slot: Slot, now: number): void {
    slot.state = { name: 'seeking' };
    fruitless++;
    if (fruitless === FRUITLESS_PER_LINK * plan.wanted || targets.isExhausted(situation(now)))
      seekAt = Math.max(seekAt, now + paceAfterDial(now));
    settle(now);
  }

  function isDuplicate(slot: Slot, { replicaId, worker }: Place): boolean {
    const others = slots.filter((other) => other !== slot && placeOf(other)?.replicaId === replicaId);
    if (others.some((other) => placeOf(other)?.worker === worker)) return true;
    if (plan.wanted === 1) return false;
    return others.length >= plan.perReplica || [...leaving.values()].includes(replicaId);
  }

  /** Adapts the slots to what the gateway said last on the links that are held. */
  function settle(now: number): void {
    const newest = [...said.values()].at(-1);
    if (newest !== undefined) fleet = newest;
    else if (held().length > 0) fleet = undefined;
    plan = planLinks(fleet ?? ONE_LINK, maxLinks);
    retireExcess();
    const spare = slots.length - plan.wanted;
    if (spare > 0) dropIdle(spare);
    const missing = plan.wanted - slots.length;
    for (let added = 0; added < missing; added++) slots.push({ backOff: FRESH, state: { name: 'seeking' } });
    if (missing > 0) hasten(now);
    if (plan.wanted === 1 || options.namesReplicas) resolveAt = Infinity;
    else if (resolveAt === Infinity && !isResolving) resolveAt = now;
    judgeShortage(now);
  }

  function dropIdle(count: number): void {
    const idle = slots.filter(({ state }) => state.name === 'seeking' || state.name === 'waiting');
    const dropped = new Set(idle.slice(-count));
    slots = slots.filter((slot) => !dropped.has(slot));
  }

  /** The replacement of a lost replica may have another address. */
  function resolveSoon(now: number): void {
    if (resolveAt !== Infinity)
      resolveAt = Math.min(resolveAt, now + jitter(RESOLVE_SOON_MS, RESOLVE_JITTER, random()));
  }

  /** An extra replica, beside those that the gateway has counted, keeps its links as long as there may be so many. */
  function retireExcess(): void {
    const kept = new Map<string, number>();
    let total = 0;
    for (const link of held()) {
      const { replicaId } = link.place;
      const links = (kept.get(replicaId) ?? 0) + 1;
      if (links <= plan.perReplica && total < maxLinks) {
        kept.set(replicaId, links);
        total++;
        continue;
      }
      leave(link);
      slots = slots.filter(({ state }) => state !== link);
      options.retire(link.id);
    }
  }

  function leave({ id, place }: Pick<Held, 'id' | 'place'>): void {
    leaving.set(id, place.replicaId);
    said.delete(id);
  }

  function judgeShortage(now: number): void {
    const links = held().length;
    const { replicaCount, linksPerReplica } = fleet ?? ONE_LINK;
    const wanted = replicaCount * linksPerReplica;
    if (plan.capped && !isCapTold) options.onShort({ reason: 'max_links', links, wanted });
    isCapTold = plan.capped;
    if (links >= plan.wanted || plan.wanted === 1) {
      shortSince = undefined;
      isShortTold = false;
      return;
    }
    shortSince ??= now;
    if (isShortTold || now < shortSince + SHORT_AFTER_MS) return;
    isShortTold = true;
    options.onShort({ reason: 'not_found', links, wanted });
  }

  function lose(slot: Slot, end: DialEnd, now: number): Aftermath {
    const { state } = slot;
    if (state.name === 'held') {
      lostAt = now;
      said.delete(state.id);
    }
    if (state.name === 'dialling' && !end.refused) targets.failed(state.target);
    resolveSoon(now);
    const { state: backOff, waitMs } = afterLoss(slot.backOff, { ...end, at: now }, random());
    slot.backOff = backOff;
    slot.state = { name: 'waiting', until: now + waitMs };
    if (end.retryAfterMs > 0) pausedUntil = Math.max(pausedUntil, now + waitMs);
    const isAlone = !slots.some(({ state: { name } }) => name === 'held' || name === 'claimed');
    if (end.refused && isAlone) {
      // An agent that is refused everywhere tries for one link, not for many at once.
      fleet = undefined;
      slots = slots.filter((other) => other === slot || other.state.name === 'dialling');
    }
    if (state.name === 'held') hasten(now);
    settle(now);
    return { retryInMs: slots.includes(slot) ? waitMs : undefined };
  }

  function loseHeir(id: number, end: DialEnd, now: number): Aftermath {
    said.delete(id);
    if (!end.full) resolveSoon(now);
    const aftermath = renewal.lost(now, id, end);
    if (end.retryAfterMs > 0) pausedUntil = Math.max(pausedUntil, renewal.wakeAt);
    return aftermath;
  }

  return {
    start(now) {
      startedAt = now;
      const slot: Slot = { backOff: FRESH, state: { name: 'seeking' } };
      slots = [slot];
      dial(slot, now);
    },
    challenged(now, id, place) {
      if (renewal.has(id)) return renewal.challenged(now, id, place);
      const slot = slotOf(id);
      if (slot === undefined || slot.state.name !== 'dialling') return false;
      targets.reached(slot.state.target, place.replicaId, linksTo);
      if (isDuplicate(slot, place)) {
        seekOn(slot, now);
        return false;
      }
      slot.state = { name: 'claimed', id, generation: slot.state.generation, place };
      return true;
    },
    welcomed(now, id, welcome) {
      if (renewal.has(id)) {
        if (welcome !== undefined) said.set(id, welcome);
        renewal.welcomed(now, id);
        settle(now);
        return;
      }
      const slot = slotOf(id);
      if (slot === undefined || slot.state.name !== 'claimed') return;
      slot.state = { ...slot.state, name: 'held', since: now };
      if (welcome !== undefined) said.set(id, welcome);
      hasten(now);
      settle(now);
      renewal.seek(now);
    },
    fleetChanged(now, id, changed) {
      const before = said.get(id);
      if (slotOf(id) === undefined && !renewal.has(id)) return;
      // Inserted last, since the newest counts.
      said.delete(id);
      said.set(id, changed);
      if (JSON.stringify(before) !== JSON.stringify(changed)) hasten(now);
      settle(now);
    },
    goingAway(now, id) {
      const slot = slotOf(id);
      if (renewal.has(id)) renewal.goingAway(now, id);
      if (slot === undefined || slot.state.name !== 'held') return;
      if (renewal.inherit(now, slot)) {
        // The gateway has counted the heir; or it leaves, and the heir will get a go-away, too.
        settle(now);
        return;
      }
      const heldMs = now - slot.state.since;
      leave(slot.state);
      const { state, waitMs } = afterGoAway(slot.backOff, now, heldMs, random());
      slot.backOff = state;
      slot.state = { name: 'waiting', until: now + waitMs };
      lostAt = now;
      hasten(now);
      settle(now);
    },
    closed(now, id, end) {
      if (leaving.delete(id)) return { retryInMs: undefined };
      if (renewal.has(id)) return loseHeir(id, end, now);
      const slot = slotOf(id);
      if (slot === undefined) return 'left';
      if (renewal.inherit(now, slot)) {
        leaving.delete(id);
        settle(now);
        return { retryInMs: undefined };
      }
      if (end.full) {
        said.delete(id);
        seekOn(slot, now);
        // Without any link the operator must see why.
        return end.heldMs === 0 && held().length > 0 ? 'left' : { retryInMs: Math.round(seekAt - now) };
      }
      return lose(slot, end, now);
    },
    resolved(now, addresses) {
      isResolving = false;
      if (plan.wanted > 1) resolveAt = now + jitter(options.resolveIntervalMs, RESOLVE_JITTER, random());
      if (addresses !== undefined && addresses.length > 0 && targets.resolved(addresses)) hasten(now);
    },
    renew: (now) => renewal.begin(now),
    counted(now, id) {
      renewal.counted(now, id);
      settle(now);
    },
    tick(now) {
      if (now >= resolveAt) {
        resolveAt = Infinity;
        isResolving = true;
        options.resolve();
      }
      for (const slot of slots) {
        if (slot.state.name === 'waiting' && now >= slot.state.until) dial(slot, now);
      }
      if (now >= Math.max(renewal.wakeAt, pausedUntil)) renewal.seek(now);
      const seeker = slots.find(({ state }) => state.name === 'seeking');
      if (seeker !== undefined && now >= Math.max(seekAt, pausedUntil)) {
        seekAt = now + paceAfterDial(now);
        dial(seeker, now);
      }
      judgeShortage(now);
    },
    get wakeAt() {
      let at = Math.min(resolveAt, Math.max(renewal.wakeAt, pausedUntil));
      for (const { state } of slots) {
        if (state.name === 'waiting') at = Math.min(at, state.until);
        else if (state.name === 'seeking') at = Math.min(at, Math.max(seekAt, pausedUntil));
      }
      if (shortSince !== undefined && !isShortTold) at = Math.min(at, shortSince + SHORT_AFTER_MS);
      return at;
    },
    get held() {
      return held().length;
    },
    get wanted() {
      return plan.wanted;
    },
    get stale() {
      return renewal.stale;
    },
    isHeir: (id) => renewal.has(id),
  };
}
