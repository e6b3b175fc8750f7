import type { Rows, Statement } from './statement.ts';

/** What runs without anything between: the statements of a transaction. */
export interface Unit {
  readonly statements: readonly Statement[];
  /** Called once. */
  readonly onResult: (result: UnitResult) => void;
  /** The bytes of its rows, as the server sends them: a connection is ended if there are more. */
  readonly mostBytes: number;
  /** If it may share a transaction. Its result is then as if it had run alone, or is void. */
  readonly blind?: BlindCall | undefined;
}

/** How a unit has ended. An error is that of the statement after the last result, or of the connection. */
export interface UnitResult {
  readonly results: readonly Rows[];
  readonly error: Error | undefined;
  /** Whether the server then said that no transaction is open; never true with an error. */
  readonly idle: boolean;
  /** The transaction that it shared answers none of its calls. */
  readonly isVoid?: boolean;
  /** The error came while its own statement ran, in the transaction that it shared. */
  readonly isCulprit?: boolean;
}

/**
 * What a unit runs in a transaction that it shares, in place of its own statements. It is blind: verification has proven
 * that it cannot see who calls.
 */
export interface BlindCall {
  readonly statement: Statement;
  readonly relations: readonly GuardedRelation[];
  /** By `performance.now()`. */
  readonly deadline: number;
  /** Whether the account may give back locks. */
  readonly unlocks: boolean;
  /** Whether it is planned for its values: it shares with such calls only. */
  readonly plansEach: boolean;
  /** It leaves in a shared transaction; `isFirst` for one call of each. */
  onShared(isFirst: boolean): void;
  /** It must share no more: these relations have changed, or something that nobody can name. */
  onTripped(changed: readonly string[] | 'unknown'): void;
}

/** A table that blind calls read. */
export interface GuardedRelation {
  readonly oid: string;
  /** As SQL, quoted and with its schema. */
  readonly name: string;
  /** What the author's name for it would find first on the account's search path, if that were there; in the same form. */
  readonly earlier: readonly string[];
}
