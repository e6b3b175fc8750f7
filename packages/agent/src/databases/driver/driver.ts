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
  /** Keys of the section that must be given, as text or as a file that the key with `_file` behind it names. */
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
  connect(config: DatabaseConfig, onChange: (change: DatabaseChange) => void): Database;
  /** Loads what explains queries, which a running agent never needs, from `./explain/index.ts`. */
  loadExplain(): Promise<Explainer>;
  /** Loads the verifier from `./verifier.ts`, which only the start-up process needs: with its parser it takes much memory. */
  loadVerifier(): Promise<Verifier>;
  /** Loads what proposes capabilities, which a running agent never needs, from `./catalog/index.ts`. */
  loadCatalog(): Promise<CatalogSource>;
}

/** What the section of every driver may hold; the texts of the file, not yet in the agent's terms. */
export interface DatabaseSection {
  readonly driver?: string;
  readonly require_readonly_account?: boolean;
}

/** Plain data, for it is handed from the start-up process to the agent. */
export interface DatabaseConfig {
  readonly driver: string;
  readonly maxConnections: number;
  /** Whether an account that may do more than read keeps the agent from starting. */
  readonly requireReadonlyAccount: boolean;
  /** Where `require_readonly_account` stands in the file; absent where the file does not have it. */
  readonly requireReadonlyAccountPosition?: Position;
}

/** By the names of the file. */
export type DatabaseConfigs = Readonly<Record<string, DatabaseConfig>>;

export interface Explainer {
  /** Connects like `Driver.connect`; queries run as always, and answer with a `QueryPlan`, as JSON, instead of rows. */
  connect(config: DatabaseConfig): Database;
}

/** Proves, before the agent serves, what holds for every call. */
export interface Verifier {
  /** What is wrong with the statements as they are written: all that can be told without a database. */
  readStatements(capabilities: readonly Capability[]): Promise<readonly VerificationFault[]>;
  /** What is allowed in statements without faults, and will fail at some calls. */
  findWarnings(capabilities: readonly Capability[]): Promise<readonly Fault[]>;
  /** The names of those whose statement does not say in which order its rows come, and may give several: a guess. */
  findUnordered(capabilities: readonly Capability[]): Promise<readonly string[]>;
  /** Connects when it is first used. */
  open(config: DatabaseConfig): VerifierDatabase;
}

export interface VerifierDatabase {
  /** Proves that the database answers; throws `DatabaseError` with kind `unavailable`. */
  ping(): Promise<void>;
  /** Proves that each capability only reads and yields what it declares. All faults at once. */
  verify(capabilities: readonly Capability[]): Promise<Verification>;
  /** What is allowed in verified statements, and is hardly meant: what only the database can tell. */
  findWarnings(capabilities: readonly Capability[]): Promise<readonly Fault[]>;
  /** Likewise, with the keys of tables known, by which a statement finds one row. */
  findUnordered(capabilities: readonly Capability[]): Promise<readonly string[]>;
  /** What there is to declare of a statement that the capability `name` is to have. */
  describe(name: string, sql: string): Promise<StatementDescription>;
  /** How the database means to run it, in lines for people. Nothing runs. Database text. Throws `DatabaseError`. */
  plan(prepared: PreparedCapability): Promise<readonly string[]>;
  /** What the account may do beyond reading, each with its remedy: for some that is an account for these capabilities. */
  auditAccount(capabilities: readonly Capability[]): Promise<readonly AccountFinding[]>;
  /** What else the account may do that these capabilities do not need. Absent where there is nothing to tell. */
  describeAccount?(capabilities: readonly Capability[]): Promise<readonly AccountNote[]>;
  close(): Promise<void>;
}

export interface Verification<Prepared extends PreparedCapability = PreparedCapability> {
  /** One for each capability that passed. */
  readonly prepared: readonly Prepared[];
  /** Those that passed, in their order; parameters are narrowed where the database takes less than was declared. */
  readonly capabilities: readonly Capability[];
  readonly faults: readonly VerificationFault[];
}

/** A capability that has passed every check, as plain data; what else it holds only its driver reads. */
export interface PreparedCapability {
  readonly capability: string;
}

export interface AccountFinding {
  readonly problem: string;
  /** The REVOKE or ALTER that removes the problem, or, after words, the statements that make another account. */
  readonly remedy: string;
}

/** For whoever asks what an account may do; never a fault. */
export interface AccountNote {
  readonly note: string;
  /** The statement that takes it away; absent where there is none. */
  readonly remedy?: string;
}

/** Runs the capabilities that a verifier has prepared. */
export interface Database {
  /** Proves that the database answers; throws `DatabaseError` with kind `unavailable`. */
  ping(): Promise<void>;
  prepare(prepared: PreparedCapability): Query;
  /** It will not be run again. */
  forget(query: Query): void;
  readonly connections: DatabaseConnections;
  /** False while the database is lost: see `DatabaseChange`. */
  readonly isUp: boolean;
  /** Ends idle connections at once and the others when their call ends. */
  close(): Promise<void>;
}

/** A database that could be reached is lost when no connection is left and none can be made, until one can be made. */
export type DatabaseChange =
  | {
      readonly isUp: false;
      /** What to check. */
      readonly advice: string;
      /** Database text, for the log file only. */
      readonly detail: string;
    }
  | { readonly isUp: true; readonly awayMs: number };

/** How many there are of each now, and how many calls wait for one. */
export interface DatabaseConnections {
  readonly idle: number;
  readonly busy: number;
  readonly opening: number;
  readonly waiting: number;
}

/** A verified capability, ready to run. */
export interface Query {
  /** Runs in a READ ONLY transaction of its own that is always rolled back; throws `DatabaseError`. */
  run(call: QueryCall): Promise<QueryResult>;
  /**
   * The parameters whose labels in the database are no longer those of the start, each told once; absent where there are
   * none. To be called when parameters were refused.
   */
  readonly changedLabels?: () => Promise<readonly string[]>;
}

export interface QueryCall {
  /** Validated parameter values by name; absent and null both bind SQL NULL. */
  readonly values: Readonly<Record<string, unknown>>;
  readonly apiKeyName: string;
  /** What the database is told of who calls; undefined where the agent does not ask. */
  readonly caller?: CallerSettings | undefined;
  readonly requestId: string;
  /** What is left for the whole run, waiting for a connection included. */
  readonly timeoutMs: number;
  /** Aborting cancels the query in the database. */
  readonly signal: AbortSignalLike;
  /** Absent for a call that no other has to give way to. */
  readonly share?: CallerShare | undefined;
}

/** What a caller may take of something scarce, beside the other callers that there are or lately were. */
export interface CallerShare {
  /** Whether no other caller has had calls lately. */
  readonly isAlone: boolean;
  /** How many of `capacity` it may hold at once, at least one; all where it has been alone. */
  most(capacity: number): number;
  /** How many of `capacity` it has to leave free also where it shares the others: none unless most calls are its own. */
  spare(capacity: number): number;
}

/** Empty where it is not known. */
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
}
