import type { ParamSchema, ResultType } from '../../capabilities/model.ts';
import type { DatabaseSection } from '../driver/driver.ts';

/** What the suite has to know of one kind of database. SQL that all of them understand stands in the suite itself. */
export interface Dialect {
  /** Whether an account that may do more than read keeps the agent from starting, where the file does not say. */
  readonly requiresReadonlyAccount: boolean;
  /** The functions that the account that reads may call; absent where nobody grants them. */
  readonly grantedFunctions?: readonly string[];
  /** A database of its own with `book (id, title)`, 50 rows: 1 and 'book 1' to 50 and 'book 50'. */
  start(): Promise<TestServer>;
  /** The name of a column as it is written in SQL, with whatever characters. */
  quoted(name: string): string;
  /** The expression that gives back the value of the parameter `name` as `resultTypeOf(schema)`. */
  param(name: string, schema: ParamSchema): string;
  /** Whether integers from 2^63 to 2^64-1 are bound, too. */
  readonly hasUnsignedIntegers: boolean;
  /** Takes that long and yields one row, whose `a` is the integer 1. */
  slow(ms: number): Statement;
  /**
   * Columns by their declared type, and the JSON text that leaves: at least one for each type, and null for what JSON
   * does not have, such as NaN and infinities, where the database has them.
   */
  readonly columns: readonly (readonly [type: ResultType, expression: string, json: string])[];
  /** Columns that cannot be given as the declared type. */
  readonly misfits: readonly (readonly [type: ResultType, expression: string])[];
  /** Every way to write, to lock or to leave the transaction that the database has; each is refused at the start. */
  readonly writes: readonly string[];
  /** Writes behind a function that `allow_functions` names: verification allows them, and each call of them fails. */
  readonly allowedWrites: readonly Statement[];
  /** Whether the database sees at the start already that they write. */
  readonly refusesAllowedWrites?: boolean;
  /** Each has the string parameter `v`, and fails with a text of the database that quotes its value. */
  readonly failures: readonly Statement[];
  /** SQL with the parameter `v`, and a value that `schema` allows and the database does not take. */
  readonly refusedValue: {
    readonly sql: string;
    readonly schema: ParamSchema;
    readonly value: unknown;
  };
  /**
   * Expressions of `faulty (id, doc, name)`, whose row 1 is ('{"a":1}', 'one') and row 2 ('{bad', 'two'), and of the
   * parameter `v`, a string: with a value that is refused by itself, and one that is not.
   */
  readonly refusals: readonly (readonly [expression: string, refused: string, taken: string])[];
  /** Expressions of the same table and parameter: each fails for what row 2 has, and not for the value, which might be blamed. */
  readonly dataFaults: readonly (readonly [expression: string, value: string])[];
  /** Each has the parameter `n`, an integer, and fails for some of its values. */
  readonly risky: readonly string[];
  /** Conditions that hold for book 2 alone when `v` has that value: each form that a message advises for lists and objects. */
  readonly listForms: readonly (readonly [condition: string, schema: ParamSchema, value: unknown])[];
  /** Conditions with a `v` that cannot be of that type, and what the fault says. */
  readonly misplaced: readonly (readonly [condition: string, schema: ParamSchema, message: string])[];
  /** `leave` changes the session of the database, `look` yields the string `a`, by which such a change can be seen. */
  readonly leftovers: readonly { readonly leave: Statement; readonly look: Statement }[];
  /**
   * The table `listed` of 120 rows: `id` from 1 on, `half` and `name`, both never null and the same for two rows, `name` as
   * another text that the database holds for equal; and columns of each type that a cursor keeps, with nulls.
   */
  readonly lists: {
    readonly columns: readonly string[];
    /** Expressions of `other`, whose types no cursor keeps. */
    readonly unkept: readonly string[];
    readonly choosesNulls: boolean;
    /** Calls of functions whose answer may differ for the same row. */
    readonly changing: readonly string[];
  };
  /** Yields `api_key_name`, `capability` and `request_id` of the call; absent where the driver does not tell SQL. */
  readonly caller?: Statement;
}

export interface Statement {
  readonly sql: string;
  readonly allowFunctions?: readonly string[];
}

export interface Account {
  /** As the capability file has it. */
  readonly section: DatabaseSection;
  /** Secrets and certificates by their keys. */
  readonly texts: Readonly<Record<string, string>>;
}

export interface TestServer {
  /** May read what the dialect's SQL needs, and do nothing else. */
  readonly reader: Account;
  /** May write. */
  readonly writer: Account;
  /** How many sessions of the driver the database has. */
  sessions(): Promise<number>;
  /** How many of them are in a query or a transaction. */
  busySessions(): Promise<number>;
  /** Of those, the ones that are in the slow query itself, and no longer in what comes before it. */
  slowSessions(): Promise<number>;
  /** Ends all sessions of the driver, as an administrator does, and waits until they are over. */
  endSessions(): Promise<void>;
  /** Breaks every connection and lets nobody connect. */
  goAway(): Promise<void>;
  comeBack(): Promise<void>;
  /** After the driver has been closed. */
  stop(): Promise<void>;
}

/** The type under which a result gives a parameter of that schema back. */
export function resultTypeOf({ type }: ParamSchema): ResultType {
  return type === 'uuid' ? 'string' : type;
}

/** What databases whose columns have types refuse. */
export const MISFITS: Dialect['misfits'] = [
  ['integer', 'title'],
  ['integer', '1.5'],
  ['number', 'title'],
  ['boolean', 'id'],
  ['date', 'now()'],
  ['datetime', 'id'],
  ['array', 'id'],
  ['object', 'id'],
];

/** Ways to write that every database has. */
export const WRITES: Dialect['writes'] = [
  "insert into book values (51, 'x')",
  'delete from book',
  'with x as (select 1 as id) delete from book where id in (select id from x)',
  'select 1 as a; delete from book',
  'select 1 as a) q; delete from book; -- ',
  'commit; delete from book',
];

/** Parameters that databases without types of parameters would read as something else. */
export const MISPLACED: Dialect['misplaced'] = [
  ['id in (select :v)', { type: 'array', items: { type: 'integer' } }, 'write x in (:v)'],
  ['id + :v = 3', { type: 'string' }, 'declare it integer'],
  ['length(title) = :v', { type: 'string' }, 'declare it integer'],
  [':v', { type: 'string' }, 'declare it boolean'],
  ['id = 1 and :v', { type: 'string' }, 'declare it boolean'],
  ['id = (select sum(:v) from book)', { type: 'string' }, 'declare it integer'],
  ['title = :v', { type: 'boolean' }, 'declare it string'],
  ['title > :v', { type: 'integer' }, 'declare it string'],
  ['title = :v', { type: 'number' }, 'declare it string'],
];

/** The statement of databases that tell SQL who calls by parameters. */
export const CALLER_BY_PARAMETERS: Statement = {
  sql: 'select :svc_api_key_name as api_key_name, :svc_capability as capability, :svc_request_id as request_id',
};
