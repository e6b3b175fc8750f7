import type { CapabilityLimits, Param } from '../../../capabilities/model.ts';
import type { Choices, FilterChoice, OrderChoice, PageChoice } from '../../clauses/choose.ts';
import type { AssembledForms, AssembledText } from '../../clauses/parts.ts';
import type { GuardedRelation } from '../connection/unit.ts';
import type { ValueProbe } from '../../sql/probes/value-probes.ts';
import type { PreparedCapability } from '../../driver/driver.ts';

/** A capability whose SQL has passed every check: what verification leaves for the calls, as plain data. */
export interface PreparedQuery extends PreparedCapability {
  readonly own: Statements;
  /** Absent if each call has its own transaction. */
  readonly shared?: SharedStatements;
  /** In the order of `$1`, `$2`, ... */
  readonly params: readonly BoundParam[];
  /** With `$1`, `$2`, ... of their own. */
  readonly probes: readonly ValueProbe[];
  readonly limits: CapabilityLimits;
  /** Absent if its statement is always the same; else `own` is the one with all filters, in the first order. */
  readonly assembled?: AssembledQuery;
}

/** A finite set of statements, each made of verified parts. Indices are those in `params`. */
export interface AssembledQuery extends Choices<AssembledOrder> {
  readonly filters: readonly AssembledFilter[];
  /** How many rows are expected without filters. */
  readonly rows: number;
}

interface AssembledFilter extends FilterChoice {
  /** How many rows are expected with it alone. */
  readonly rows: number;
  /** The column that it compares with its parameter; absent if it is anything else. */
  readonly compares?: { readonly column: string; readonly isRange: boolean };
}

export interface AssembledOrder extends OrderChoice {
  readonly first: AssembledStatements;
  readonly pages?: AssembledPages;
}

export interface AssembledPages extends PageChoice {
  readonly next: AssembledStatements;
}

export interface AssembledStatements {
  /** The statement alone, for people. */
  readonly statement: AssembledText;
  readonly own: PreparedForms;
  readonly shared?: PreparedForms;
}

/** Some statements have no form `few`. */
export type PreparedForms = Pick<AssembledForms<ResultForm>, 'filters'> & {
  readonly forms: Readonly<Partial<Record<ResultForm, AssembledText>>>;
};

/** What is sent in each form: see `wrapSelect`. */
export interface Statements {
  /** Absent unless few rows are expected. */
  readonly few?: string;
  readonly whole: string;
  readonly prefix: string;
}

export type ResultForm = keyof Statements;

/** So many rows the form `few` asks for. If they come, there may be more, or there are more than expected. */
export function fewLimit({ maxRows }: Pick<CapabilityLimits, 'maxRows'>): number {
  return Math.min(maxRows, FEW_ROWS + 1);
}

/** Up to this many rows cost more to prepare for, at each call, than looking up their types. */
export const FEW_ROWS = 10;

/**
 * Statements that cannot see who calls, with each relation's schema written: they mean the same under the pinned search
 * path of a shared transaction.
 */
interface SharedStatements extends Statements {
  /** What the guard looks at in the end of the transaction: see `guardStatement`. */
  readonly relations: readonly GuardedRelation[];
  /** Of the account, when they were judged. */
  readonly searchPath: string;
}

export interface BoundParam {
  /** As declared, narrowed to what the types take. */
  readonly param: Param;
  /** The distinct casts of its places, as in `$1::bigint::pg_catalog.int4` without the `$1`. */
  readonly casts: readonly string[];
  /** What the SQL takes instead of the declared type. */
  readonly type?: ServerType;
  readonly written: readonly WrittenCast[];
  /** If it is a value of the cursor: which. */
  readonly ofCursor?: number;
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
