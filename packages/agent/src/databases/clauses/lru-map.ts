/** Keeps the entries that were used last. */
export class LruMap<Key, Value> {
  readonly #max: number;
  readonly #entries = new Map<Key, Value>();

  constructor(max: number) {
    this.#max = max;
  }

  get(key: Key): Value | undefined {
    return this.#entries.get(key);
  }

  /** Counts as a use. Returns the entry that had to leave. */
  set(key: Key, value: Value): readonly [Key, Value] | undefined {
    this.#entries.delete(key);
    this.#entries.set(key, value);
    if (this.#entries.size <= this.#max) return undefined;
    const [oldest] = this.#entries;
    if (oldest !== undefined) this.#entries.delete(oldest[0]);
    return oldest;
  }

  clear(): void {
    this.#entries.clear();
  }
}
