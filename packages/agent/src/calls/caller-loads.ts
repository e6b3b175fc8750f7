import type { CallerShare } from '../databases/driver/driver.ts';

/**
 * Decides how many slots of `max_concurrent_requests` and connections of the database each caller may take.
 *
 * A caller that is alone may take all. Otherwise it leaves room for as many calls as the others lately had at once, if they
 * have calls now or have called steadily:
 *   - a caller of long calls, or one whose calls are not known yet, takes at most an equal share and what the others lately
 *     left of theirs, so that another caller's next call finds a slot and a connection at once;
 *   - a caller of short calls leaves an eighth. Others wait for its calls for milliseconds only, and have the eighth if its
 *     calls turn out to take long.
 */
export interface CallerLoads {
  /** To be called for each call: a caller without calls is forgotten after a while. */
  of(name: string, time?: number): CallerLoad;
}

export interface CallerLoad extends CallerShare {
  /** Calls that have a slot. */
  readonly running: number;
  /** A call has arrived and waits. */
  arrived(): void;
  /** A waiting call has got its slot. Returns the time, for `ended`; undefined if there is no other caller. */
  started(): number | undefined;
  ended(startedAt: number | undefined): void;
  /** A waiting call has left without a slot. */
  left(): void;
}

/** How many calls a caller had at once is remembered for this window and the next. */
const WINDOW_MS = 2000;
/** A caller with so many calls in that time calls steadily. For others nothing is kept free. */
const STEADY_CALLS = 10;
/** A call that takes longer is a long one: waiting for its end costs many times the time of a point query. */
const LONG_MS = 20;
const LAST_SHARE = 1 / 8;
const SPARE_SHARE = 1 / 8;
/** Callers beyond count as one, so that names made up by a gateway cannot fill the memory. */
const CALLERS_MAX = 10_000;

interface Counted extends CallerLoad {
  /** The most calls that it had at once, in this window or the one before. */
  wanted(): number;
  /** `isNext`: the new window follows directly. */
  nextWindow(isNext: boolean): void;
}

export function createCallerLoads(now: () => number = () => performance.now()): CallerLoads {
  const callers = new Map<string, Counted>();
  let last: { readonly name: string; readonly caller: Counted } | undefined;
  let window = 0;
  /** Calls of all callers that run or wait. */
  let present = 0;
  /** Callers that count now, and the sum of what they want. */
  const counting = new Set<Counted>();
  let wanted = 0;
  /** Equal shares by capacity, valid until a caller wants more or less. */
  const shares = new Map<number, number>();

  function changeWanted(by: number): void {
    wanted += by;
    if (shares.size > 0) shares.clear();
  }

  function beginWindow(at: number): void {
    const isNext = at === window + 1;
    window = at;
    last = undefined;
    for (const [name, caller] of callers) {
      caller.nextWindow(isNext);
      if (caller.wanted() === 0) callers.delete(name);
    }
  }

  /** The fair share of a caller: those who want less get all they want. Infinity if everyone can have what they want. */
  function shareOf(capacity: number): number {
    const known = shares.get(capacity);
    if (known !== undefined) return known;
    const share = counting.size >= capacity ? 1 : equalShare(capacity, [...counting]);
    shares.set(capacity, share);
    return share;
  }

  function createCaller(): Counted {
    let [running, waiting] = [0, 0];
    let [peak, formerPeak] = [0, 0];
    let [calls, formerCalls] = [0, 0];
    /** Its part of `wanted`. */
    let counted = 0;
    /** Running calls that started while there were other callers: their number, and the sum of their start times. */
    let [timed, startedSum] = [0, 0];
    /** The usual duration of its calls; undefined before the first is over. */
    let usualMs: number | undefined;

    const most = (): number => Math.max(peak, formerPeak);

    function recount(): void {
      const isPresent = running + waiting > 0 || calls + formerCalls >= STEADY_CALLS;
      const count = isPresent ? most() : 0;
      if (count === counted) return;
      changeWanted(count - counted);
      counted = count;
      if (count > 0) counting.add(self);
      else counting.delete(self);
    }

    function takesLong(): boolean {
      if (usualMs === undefined || usualMs > LONG_MS) return true;
      return timed > 0 && now() - startedSum / timed > LONG_MS;
    }

    const self: Counted = {
      get isAlone() {
        return callers.size < 2;
      },
      get running() {
        return running;
      },
      most(capacity) {
        if (wanted === counted || wanted <= capacity) return capacity;
        if (takesLong()) return Math.min(capacity, shareOf(capacity));
        return Math.max(1, capacity - Math.min(wanted - counted, spareOf(capacity)));
      },
      spare(capacity) {
        const hasMost = wanted > counted && 2 * (running + waiting) > present;
        return hasMost ? spareOf(capacity) : 0;
      },
      arrived() {
        present += 1;
        waiting += 1;
        calls += 1;
        peak = Math.max(peak, running + waiting);
        recount();
      },
      started() {
        waiting -= 1;
        running += 1;
        // Durations matter only with other callers, and reading the clock costs as much as everything else here.
        if (callers.size < 2) return undefined;
        const startedAt = now();
        timed += 1;
        startedSum += startedAt;
        return startedAt;
      },
      ended(startedAt) {
        present -= 1;
        running -= 1;
        if (running + waiting === 0) recount();
        if (startedAt === undefined) return;
        timed -= 1;
        startedSum = timed === 0 ? 0 : startedSum - startedAt;
        const ms = now() - startedAt;
        usualMs = usualMs === undefined ? ms : usualMs + (ms - usualMs) * LAST_SHARE;
      },
      left() {
        present -= 1;
        waiting -= 1;
        if (running + waiting === 0) recount();
      },
      wanted: () => counted,
      nextWindow(isNext) {
        formerPeak = isNext ? peak : 0;
        peak = running + waiting;
        formerCalls = isNext ? calls : 0;
        calls = 0;
        recount();
      },
    };
    return self;
  }

  return {
    of(name, time = now()) {
      const at = Math.floor(time / WINDOW_MS);
      if (at > window) beginWindow(at);
      if (last?.name === name) return last.caller;
      const key = callers.has(name) || callers.size < CALLERS_MAX ? name : '';
      const caller = callers.get(key) ?? createCaller();
      callers.set(key, caller);
      last = { name, caller };
      return caller;
    },
  };
}

function spareOf(capacity: number): number {
  return Math.min(Math.ceil(capacity * SPARE_SHARE), capacity - 1);
}

function equalShare(capacity: number, callers: readonly Counted[]): number {
  let left = capacity;
  let sharing = callers.length;
  for (const wanted of callers.map((caller) => caller.wanted()).toSorted((a, b) => a - b)) {
    if (wanted * sharing >= left) return Math.max(1, Math.floor(left / sharing));
    left -= wanted;
    sharing -= 1;
  }
  return Number.POSITIVE_INFINITY;
}
