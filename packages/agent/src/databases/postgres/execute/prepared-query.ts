import type { CapabilityLimits, Param } from '../../../capabilities/model.ts';
import type { ValueProbe } from '../../sql/probes/value-probes.ts';
import type { PreparedCapability } from '../../driver/driver.ts';

/** A capability whose SQL has passed every check: what verification leaves for the calls, as plain data. */
export interface PreparedQuery extends PreparedCapability {
  /** What is sent, for results within the caps and for others: see `wrapSelect` for the rows that they yield. */
  readonly whole: string;
  readonly prefix: string;
  /** In the order of `$1`, `$2`, ... */
  readonly params: readonly BoundParam[];
  /** With `$1`, `$2`, ... of their own. */
  readonly probes: readonly ValueProbe[];
  readonly limits: CapabilityLimits;
}

/** Whether the answer is all rows or nothing, or as many of the first as the caps allow. */
export type ResultForm = 'whole' | 'prefix';

/** A parameter as it is bound. */
export interface BoundParam {
  /** As declared, narrowed to what the types take. */
  readonly param: Param;
  /** The distinct casts of its places, as in `$1::bigint::pg_catalog.int4` without the `$1`. */
  readonly casts: readonly string[];
  /** What the SQL takes other than the declared type. */
  readonly type?: ServerType;
  /** Casts that the SQL itself has directly on the parameter. */
  readonly written: readonly WrittenCast[];
}

export interface WrittenCast {
  /** Behind those of its place, in the form of `casts`. */
  readonly cast: string;
  /** The type's name as SQL, without modifiers. */
  readonly name: string;
  /** What it is called in public; undefined for types of the database's own making, and until it is looked up. */
  readonly title?: string;
}

/** A type of the database, as the server takes a parameter. */
export interface ServerType {
  /** Its name as SQL, quoted and with its schema. */
  readonly sql: string;
  /** Oid of what it is in the end: domains resolved, and of an array the element. */
  readonly base: number;
  readonly isArray: boolean;
  readonly isDomain: boolean;
  /** `typtype` of the base: b, e, r, m, c or p. */
  readonly form: string;
  /** `typcategory` of the base. */
  readonly category: string;
  /** What it is called in public; undefined for types of the database's own making. */
  readonly title: string | undefined;
  /** Of an enum, in its order. */
  readonly labels: readonly string[];
}
