import { LruMap } from '../../clauses/lru-map.ts';

/** Each takes the server memory, and a capability may have thousands. */
const ASSEMBLED_MAX = 32;

/** The names of the statements that the server of a connection is known to have prepared. */
export class PreparedStatements extends Set<string> {
  readonly #assembled = new LruMap<string, true>(ASSEMBLED_MAX);

  /** Counts the use of a statement that is assembled. Returns the name of the one that has to be closed in its place. */
  use(name: string): string | undefined {
    const [oldest] = this.#assembled.set(name, true) ?? [];
    if (oldest !== undefined) this.delete(oldest);
    return oldest;
  }

  override clear(): void {
    super.clear();
    this.#assembled.clear();
  }
}
