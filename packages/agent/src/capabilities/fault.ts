/** A place in the capability file; both count from 1. */
export interface Position {
  readonly line: number;
  readonly column: number;
}

/** What is wrong with the configuration, fit to be shown: never a secret, never SQL. */
export interface Fault {
  /** Dotted path of the setting, e.g. `capabilities.find_book.params.id.type`. */
  readonly path: string;
  readonly message: string;
  readonly position?: Position;
}

/** For `toSorted`: the order of the file. */
export function byPosition(a: Fault, b: Fault): number {
  const line = (a.position?.line ?? 0) - (b.position?.line ?? 0);
  return line === 0 ? (a.position?.column ?? 0) - (b.position?.column ?? 0) : line;
}
