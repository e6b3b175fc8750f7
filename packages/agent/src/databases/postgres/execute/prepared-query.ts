import type { CapabilityLimits, Param } from '../../../capabilities/model.ts';
import type { ValueProbe } from '../../sql/probes/value-probes.ts';
import type { PreparedCapability } from '../../driver/driver.ts';

/** A capability whose SQL has passed every check: what verification leaves for the calls, as plain data. */
export interface PreparedQuery extends PreparedCapability {
  /** What is sent for results within the caps, and for others: see `wrapSelect`. */
  readonly whole: string;
  readonly prefix: string;
  /** In the order of `$1`, `$2`, ... */
  readonly params: readonly BoundParam[];
  /** With `$1`, `$2`, ... of their own. */
  readonly probes: readonly ValueProbe[];
  readonly limits: CapabilityLimits;
}

export type ResultForm = 'whole' | 'prefix';

export interface BoundParam {
  /** As declared, narrowed to what the types take. */
  readonly param: Param;
  /** The distinct casts of its places, as in `$1::bigint::pg_catalog.int4` without the `$1`. */
  readonly casts: readonly string[];
  /** What the SQL takes instead of the declared type. */
  readonly type?: ServerType;
  readonly written: readonly WrittenCast[];
}

export interface WrittenCast {
  /** After those of its place, in the form of `casts`. */
  readonly cast: string;
  /** The type as SQL, without modifiers. */
  readonly name: string;
  /** Its public name; undefined for types of the database's own making, and until it is looked up. */
  readonly title?: string;
}

/** A type of the database, as the server takes a parameter. */
export interface ServerType {
  /** Its name as SQL, quoted and with its schema. */
  readonly sql: string;
  /** The oid behind domains and, for an array, of the element. */
  readonly base: number;
  readonly isArray: boolean;
  readonly isDomain: boolean;
  /** `typtype` of the base: b, e, r, m, c or p. */
  readonly form: string;
  readonly category: string;
  /** Its public name; undefined for types of the database's own making. */
  readonly title: string | undefined;
  readonly labels: readonly string[];
}
