/** A bounded memory in which every entry lives equally long; the oldest leaves when it is full. */
export interface ExpiringMap<V> {
  get(key: string): V | undefined;
  set(key: string, value: V): void;
  delete(key: string): void;
  /** Deletes every matching entry. */
  deleteWhere(isUnwanted: (value: V) => boolean): void;
  clear(): void;
  /** Milliseconds until the entry ends; 0 when there is none. */
  remainingMs(key: string): number;
  readonly size: number;
}

/** `now` is a monotonic clock in milliseconds. */
export function createExpiringMap<V>(options: {
  readonly maxEntries: number;
  readonly lifetimeMs: number;
  readonly now: () => number;
}): ExpiringMap<V> {
  const { maxEntries, lifetimeMs, now } = options;
  const entries = new Map<string, { readonly value: V; readonly until: number }>();

  return {
    get(key) {
      const entry = entries.get(key);
      if (entry === undefined) return undefined;
      if (entry.until > now()) return entry.value;
      entries.delete(key);
      return undefined;
    },
    set(key, value) {
      entries.delete(key);
      if (entries.size >= maxEntries) {
        const oldest = entries.keys().next();
        if (oldest.done !== true) entries.delete(oldest.value);
      }
      entries.set(key, { value, until: now() + lifetimeMs });
    },
    delete(key) {
      entries.delete(key);
    },
    deleteWhere(isUnwanted) {
      for (const [key, { value }] of entries) if (isUnwanted(value)) entries.delete(key);
    },
    clear() {
      entries.clear();
    },
    remainingMs(key) {
      return Math.max(0, (entries.get(key)?.until ?? 0) - now());
    },
    get size() {
      return entries.size;
    },
  };
}
