/** A first-come, first-served queue for each key; the keys take turns. */
export interface TurnQueue<K, T> {
  readonly size: number;
  waiting(key: K): number;
  add(key: K, item: T): void;
  /** Has no effect on an item that does not wait. */
  delete(key: K, item: T): void;
  /** Of the oldest items of the keys, in the order of turns, returns the first that passes. It stays in the queue. */
  find(passes: (item: T) => boolean): T | undefined;
  served(key: K): void;
  /** The newest item of the key that has most, if that key has more than `than`. */
  newestOfMost(than: K): T | undefined;
}

export function createTurnQueue<K, T>(): TurnQueue<K, T> {
  /** In the order of turns; no queue is empty. */
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
