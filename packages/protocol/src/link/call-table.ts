/** What is kept for each open call, by its id: a whole number above zero. */
export interface CallTable<T> {
  readonly size: number;
  get(id: number): T | undefined;
  /** `id` must not be in the table. */
  add(id: number, value: T): void;
  delete(id: number): void;
  /** `visit` must not change the table. */
  forEach(visit: (value: T, id: number) => void): void;
  /** A copy, which later changes do not affect. */
  entries(): readonly (readonly [id: number, value: T])[];
}

const FREE = 0;
const LEAST_SLOTS = 16;

/**
 * Open addressing, since ids come in order and go soon. A `Map` would do but for V8: whenever one makes itself a new
 * table the old one refers to it, so from the first that has grown old on each keeps the next with all its calls,
 * until a full garbage collection.
 */
export function createCallTable<T>(): CallTable<T> {
  let ids: number[] = [];
  let values: (T | undefined)[] = [];
  let mask = 0;
  let size = 0;
  resize(LEAST_SLOTS);

  function resize(slots: number): void {
    const before = entries();
    ids = Array.from({ length: slots }, () => FREE);
    values = Array.from({ length: slots }, () => undefined);
    mask = slots - 1;
    for (const [id, value] of before) put(slotOf(id), id, value);
  }

  function put(slot: number, id: number, value: T | undefined): void {
    ids[slot] = id;
    values[slot] = value;
  }

  /** Where `id` is, or would be. */
  function slotOf(id: number): number {
    let slot = id & mask;
    while (ids[slot] !== id && ids[slot] !== FREE) slot = (slot + 1) & mask;
    return slot;
  }

  /** Moves entries into the gap that would not be found after it. */
  function close(gap: number): void {
    let free = gap;
    for (let slot = (gap + 1) & mask; ; slot = (slot + 1) & mask) {
      const id = ids[slot] ?? FREE;
      if (id === FREE) break;
      if (((slot - (id & mask)) & mask) < ((slot - free) & mask)) continue;
      put(free, id, values[slot]);
      free = slot;
    }
    put(free, FREE, undefined);
  }

  function entries(): (readonly [number, T])[] {
    const found: (readonly [number, T])[] = [];
    for (const [slot, id] of ids.entries()) {
      const value = values[slot];
      if (id !== FREE && value !== undefined) found.push([id, value]);
    }
    return found;
  }

  return {
    get size() {
      return size;
    },
    get: (id) => values[slotOf(id)],
    add(id, value) {
      if (2 * (size + 1) > ids.length) resize(2 * ids.length);
      put(slotOf(id), id, value);
      size++;
    },
    delete(id) {
      const slot = slotOf(id);
      if (ids[slot] !== id) return;
      close(slot);
      size--;
    },
    forEach(visit) {
      for (const [slot, id] of ids.entries()) {
        const value = values[slot];
        if (id !== FREE && value !== undefined) visit(value, id);
      }
    },
    entries,
  };
}
