/** What waits: one queue for each key, first come, first served, and the keys take turns. */
export interface TurnQueue<K, T> {
  readonly size: number;
  /** How many of this key wait. */
  waiting(key: K): number;
  add(key: K, item: T): void;
  /** Without effect on one that does not wait. */
  delete(key: K, item: T): void;
  /** Of the oldest of each key, in the order of their turns, the first that passes. It goes on waiting. */
  find(passes: (item: T) => boolean): T | undefined;
  /** The key has had its turn. */
  served(key: K): void;
  /** The newest of the key with most, where that has more than this key. */
  newestOfMost(than: K): T | undefined;
}

export function createTurnQueue<K, T>(): TurnQueue<K, T> {
  /** In the order of their turns; none is empty. */
  const queues = new Map<K, Set<T>>();
  let size = 0;

  return {
    get size() {
      return size;
    },
    waiting: (key) => queues.get(key)?.size ?? 0,
    add(key, item) {
      const queue = queues.get(key);
      if (queue === undefined) queues.set(key, new Set([item]));
      else queue.add(item);
      size += 1;
    },
    delete(key, item) {
      const queue = queues.get(key);
      if (queue?.delete(item) !== true) return;
      size -= 1;
      if (queue.size === 0) queues.delete(key);
    },
    find(passes) {
      for (const queue of queues.values()) {
        const item = oldest(queue);
        if (item !== undefined && passes(item)) return item;
      }
      return undefined;
    },
    served(key) {
      const queue = queues.get(key);
      if (queue === undefined || queues.size === 1) return;
      queues.delete(key);
      queues.set(key, queue);
    },
    newestOfMost(than) {
      let most = queues.get(than)?.size ?? 0;
      let longest: Set<T> | undefined;
      for (const queue of queues.values()) {
        if (queue.size <= most) continue;
        most = queue.size;
        longest = queue;
      }
      return longest && [...longest].at(-1);
    },
  };
}

function oldest<T>(queue: ReadonlySet<T>): T | undefined {
  const [item] = queue;
  return item;
}
