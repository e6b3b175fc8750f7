import type { AbortSignalLike, OwnCode } from '@svc/edge';
import type { Capability } from '../../capabilities/model.ts';
import type { Fault, Position } from '../../capabilities/fault.ts';
import type { JsonSchema } from '../../capabilities/json-schema.ts';
import type { CatalogSource } from './catalog.ts';
import type { StatementDescription } from './describe-statement.ts';
import type { VerificationFault } from './errors.ts';

/**
 * One kind of database, as the rest of the agent sees it. A folder implements it, and `drivers.ts` lists it. Its
 * methods get back what they made themselves, `DatabaseConfig` and `PreparedCapability`, and may know more of it.
 */
export interface Driver {
  /** The keys of its section of the capability file, beside `driver`, and those that must be there. */
  readonly section: {
    readonly properties: Readonly<Record<string, JsonSchema>>;
    readonly required: readonly string[];
  };
  /** What OpenTelemetry calls the kind of database: `db.system.name`. */
  readonly systemName: string;
  /** Whether `policy.allow_foreign_tables` means anything to it. */
  readonly hasForeignTables?: true;
  /** Keys that the section must give, either as text or as a file named by the same key with `_file` at its end. */
  readonly secrets: readonly string[];
  /** Keys of the section that name a file of PEM certificates. */
  readonly certificates: readonly string[];
  /**
   * `texts` holds secrets and certificates by their keys; `resolveFile` gives the path of a file that the section names.
   * The section has passed its schema.
   */
  configure(
    section: DatabaseSection,
    texts: Readonly<Record<string, string>>,
    resolveFile: (name: string) => string,
  ): DatabaseConfig;
  /** The code of the processes that hold its engine; absent where the engine is a server. */
  readonly engineCode?: () => OwnCode;
  /** Connects when it is first used, and again whenever a connection was lost. */
  connect(config: DatabaseConfig, onChange: (change: DatabaseChange | SharingEnded) => void): Database;
  /** Loads what explains queries, which a running agent never needs, from `./explainer.ts`. */
  loadExplain(): Promise<Explainer>;
  /** Loads the verifier from `./verifier.ts`, which only the start-up process needs: with its parser it takes much memory. */
  loadVerifier(): Promise<Verifier>;
  /** Loads what proposes capabilities, which a running agent never needs, from `./catalog-source.ts`. */
  loadCatalog(): Promise<CatalogSource>;
}

/** What the section of every driver may hold; the texts of the file, not yet in the agent's terms. */
export interface DatabaseSection {
  readonly driver?: string;
  readonly require_readonly_account?: boolean;
}

/** Plain data, since the start-up process hands it to the agent. */
export interface DatabaseConfig {
  readonly driver: string;
  readonly maxConnections: number;
  /** Whether the agent refuses to start when the account may do more than read. */
  readonly requireReadonlyAccount: boolean;
  /** Where `require_readonly_account` stands in the file; absent where the file does not have it. */
  readonly requireReadonlyAccountPosition?: Position;
  /** Whether calls may share transactions: what verification heeds. Absent on engines without shared transactions. */
  readonly transactions?: TransactionForm['form'];
}

/** By their names in the file. */
export type DatabaseConfigs = Readonly<Record<string, DatabaseConfig>>;

export interface Explainer {
  /** Connects like `Driver.connect`. A query runs as for a call, but its answer is a `QueryPlan` as JSON. */
  connect(config: DatabaseConfig): Database;
}

/** Proves, before the agent serves, what holds for every call. */
export interface Verifier {
  /** All faults that can be found without a database. */
  readStatements(capabilities: readonly Capability[]): Promise<readonly VerificationFault[]>;
  /** What verification allows in statements, but fails at some calls. */
  findWarnings(capabilities: readonly Capability[]): Promise<readonly Fault[]>;
  /** Guesses which capabilities may give several rows in no certain order. Returns their names. */
  findUnordered(capabilities: readonly Capability[]): Promise<readonly string[]>;
  /** What could be better in how statements are assembled. Absent if the driver assembles none. */
  findClauseAdvice?(capabilities: readonly Capability[]): Promise<readonly ClauseAdvice[]>;
  open(config: DatabaseConfig): VerifierDatabase;
}

export interface VerifierDatabase {
  /** Proves that the database answers; throws `DatabaseError` with kind `unavailable`. */
  ping(): Promise<void>;
  /** Proves that each capability only reads and yields what it declares. All faults at once. */
  verify(capabilities: readonly Capability[]): Promise<Verification>;
  /** What is allowed in verified statements but probably a mistake, as far as only the database can tell. */
  findWarnings(capabilities: readonly Capability[]): Promise<readonly Fault[]>;
  /** The same as in `Verifier`, but with the keys of tables known. */
  findUnordered(capabilities: readonly Capability[]): Promise<readonly string[]>;
  /** The same as in `Verifier`, but with the plans of the database known. */
  findClauseAdvice?(capabilities: readonly Capability[]): Promise<readonly ClauseAdvice[]>;
  /** What a new capability `name` with this statement has to declare. */
  describe(name: string, sql: string): Promise<StatementDescription>;
  /** The plan of the database as lines of database text for people. Does not run the query. Throws `DatabaseError`. */
  plan(prepared: PreparedCapability): Promise<readonly string[]>;
  /**
   * What the account may do beyond reading, each with its remedy. Some remedies create an account for these
   * capabilities.
   */
  auditAccount(capabilities: readonly Capability[]): Promise<readonly AccountFinding[]>;
  /** What else the account may do that these capabilities do not need. */
  describeAccount?(capabilities: readonly Capability[]): Promise<readonly AccountNote[]>;
  close(): Promise<void>;
}

/** `order` is the name of an order of the capability; empty for the one that `paging` makes. */
export type ClauseAdvice = { readonly capability: string } & (
  | { readonly kind: 'optional_filter'; readonly param: string }
  /** Each page sorts so many rows. */
  | { readonly kind: 'unindexed_sort'; readonly order: string; readonly rows: number }
  /** The field may be null, and nulls come last. */
  | { readonly kind: 'nullable_sort'; readonly order: string; readonly field: string }
);

export interface Verification<Prepared extends PreparedCapability = PreparedCapability> {
  readonly prepared: readonly Prepared[];
  /** The capabilities that passed. Their parameters are narrowed if the database accepts less than declared. */
  readonly capabilities: readonly Capability[];
  readonly faults: readonly VerificationFault[];
}

/** A capability that has passed every check, as plain data. Only its driver knows its other fields. */
export interface PreparedCapability {
  readonly capability: string;
  /** Absent on engines without shared transactions. */
  readonly transaction?: TransactionForm;
  /** What its calls run in a shared transaction, which only its driver reads. */
  readonly shared?: object;
}

/** Whether calls of a capability may share a transaction with other calls, or why each has its own. */
export type TransactionForm =
  | { readonly form: 'shared' }
  | { readonly form: 'own'; readonly reason: OwnReason };

export type OwnReason =
  | 'off'
  | 'pooler'
  | 'isolation'
  | 'relation'
  | 'row_security'
  | 'function'
  | 'type'
  | 'names'
  | 'index';

export interface AccountFinding {
  readonly problem: string;
  /** The REVOKE or ALTER that removes the problem, or a text with the statements that create another account. */
  readonly remedy: string;
}

/** Information about the account that is never a fault. */
export interface AccountNote {
  readonly note: string;
  /** The statement that takes the privilege away; absent if there is none. */
  readonly remedy?: string;
}

/** Runs the capabilities that a verifier has prepared. */
export interface Database {
  /** Proves that the database answers; throws `DatabaseError` with kind `unavailable`. */
  ping(): Promise<void>;
  prepare(prepared: PreparedCapability): Query;
  /** The query will not be run again. */
  forget(query: Query): void;
  readonly connections: DatabaseConnections;
  /** False while the database is lost: see `DatabaseChange`. */
  readonly isUp: boolean;
  /** Absent on engines without shared transactions. */
  readonly transactions?: TransactionCounts | undefined;
  /** Ends idle connections at once and the others when their call ends. */
  close(): Promise<void>;
}

/** Since the database was opened. */
export interface TransactionCounts {
  /** Transactions of one call. */
  readonly own: number;
  readonly shared: number;
  /** Calls that a shared transaction has answered. */
  readonly sharedCalls: number;
  /** Calls that were sent again in an own transaction, since the shared one answered none. */
  readonly sharedResends: number;
}

/**
 * A relation has changed so that queries on it might see who calls: from now on each call of this capability has its own
 * transaction, until it is prepared again.
 */
export interface SharingEnded {
  readonly sharingEnded: string;
}

/** A database that could be reached is lost while it has no connection and none can be made. */
export type DatabaseChange =
  | {
      readonly isUp: false;
      /** What to check. */
      readonly advice: string;
      /** Database text, for the log file only. */
      readonly detail: string;
    }
  | { readonly isUp: true; readonly awayMs: number };

/** The current number of connections in each state, and of calls that wait for one. */
export interface DatabaseConnections {
  readonly idle: number;
  readonly busy: number;
  readonly opening: number;
  readonly waiting: number;
}

/** A verified capability, ready to run. */
export interface Query {
  /** Runs in a READ ONLY transaction that is always rolled back: its own or a shared one. Throws `DatabaseError`. */
  run(call: QueryCall): Promise<QueryResult>;
  /** What a call with these values runs, as the engine's SQL; absent if it is always the statement of the file. */
  readonly statementOf?: (values: QueryCall['values']) => string;
  /**
   * Call this when parameters were refused. Tells once of each parameter whose labels in the database have changed
   * since the start; absent if none has labels.
   */
  readonly changedLabels?: () => Promise<readonly string[]>;
}

export interface QueryCall {
  /** Validated parameter values by name; absent and null both bind SQL NULL. */
  readonly values: Readonly<Record<string, unknown>>;
  readonly apiKeyName: string;
  /** What the database is told about the caller; undefined if the agent does not ask. */
  readonly caller?: CallerSettings | undefined;
  readonly requestId: string;
  /** The time left for the whole run, including the wait for a connection. */
  readonly timeoutMs: number;
  /** Aborting cancels the query in the database. */
  readonly signal: AbortSignalLike;
  /** Absent for a call that shares nothing with other callers. */
  readonly share?: CallerShare | undefined;
}

/** The share of a scarce resource that one of several recent callers may take. */
export interface CallerShare {
  /** Whether no other caller has made calls lately. */
  readonly isAlone: boolean;
  /** How many of `capacity` the caller may hold at once: at least one, and all if it has been alone. */
  most(capacity: number): number;
  /**
   * How many of `capacity` the caller has to leave free even if it shares the others: none unless it makes most of the
   * calls.
   */
  spare(capacity: number): number;
}

/** Each is empty if unknown. */
export interface CallerSettings {
  readonly subject: string;
  readonly issuer: string;
  readonly clientId: string;
  /** A JSON object. */
  readonly claimsJson: string;
}

export interface QueryResult {
  /** The JSON array of rows, as sent. */
  readonly rows: Uint8Array;
  readonly count: number;
  readonly truncated: boolean;
  /** By which a call goes on after the last row; absent if it has no pages or is not cut. */
  readonly cursor?: string;
}
