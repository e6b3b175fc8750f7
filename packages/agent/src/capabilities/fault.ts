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
