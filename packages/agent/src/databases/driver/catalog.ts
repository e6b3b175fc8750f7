/** What a driver tells of a database that nobody has described yet. A folder `catalog` beside the driver implements it. */
export interface CatalogSource {
  /** Finds the database by a URL of the driver, and by the variables that the database's own programs read. */
  target(url: string | undefined, env: Readonly<Record<string, string | undefined>>): CatalogTargetResult;
  /** Reads only catalogs, no row of any table, in one read-only transaction. Throws `DatabaseError`. */
  read(target: CatalogTarget, timeoutMs: number): Promise<Catalog>;
  /** SQL that searches a text column for the text of a parameter, ignoring case. */
  readonly contains: (column: string, param: string) => string;
  /** Absent for a database that has none, such as a file. */
  readonly accounts?: CatalogAccounts;
}

export interface CatalogAccounts {
  /** The longest name in characters. */
  readonly nameMax: number;
  /** What accounts are called there, in the plural. */
  readonly noun: string;
  /** The program in which a person runs statements. */
  readonly shell: string;
  /** Absent if the database cannot make several statements one change. */
  readonly transaction?: { readonly begin: string; readonly commit: string };
  /** The statements that create an account which may read only these columns. They hold no password. */
  statements(catalog: Catalog, account: string, grants: readonly ColumnGrant[]): readonly string[];
  /** How a person gives the account its password. */
  passwordHint(account: string): string;
  /** Creates the account completely or not at all. Throws `DatabaseError`. */
  create(target: CatalogTarget, statements: readonly string[], password: string): Promise<CreatedAccount>;
}

export type CatalogTargetResult =
  | { readonly ok: true; readonly target: CatalogTarget }
  /** One line that says what to do and quotes no value of the URL. */
  | { readonly ok: false; readonly problem: string };

export interface CatalogTarget {
  /** The database's section of a capability file, without the account. */
  readonly section: Readonly<Record<string, string | number>>;
  /** As whom its catalogs are read; absent for a database without accounts. */
  readonly account?: { readonly user: string; readonly password: string | undefined };
  /** Whether a password is known. The server may accept the account without one. */
  readonly hasPassword: boolean;
  readonly withPassword: (password: string) => CatalogTarget;
}

export type CreatedAccount = 'created' | 'exists' | 'not_allowed';

export interface Catalog {
  readonly name: string;
  readonly tables: readonly CatalogTable[];
  /** Names of existing accounts. */
  readonly accounts: ReadonlySet<string>;
}

export interface CatalogTable {
  readonly schema: string;
  readonly name: string;
  /** With its schema, as SQL. */
  readonly sql: string;
  readonly kind: 'table' | 'view' | 'materialized view' | 'foreign table';
  /** Why no capability can read it as it is, and what to do. */
  readonly unreadable?: string;
  readonly comment?: string;
  /** An estimate; undefined if the database has none. */
  readonly rows?: number;
  /** Whether the account sees only the rows that policies let it see. */
  readonly rowSecurity: boolean;
  readonly columns: readonly CatalogColumn[];
  /** The primary one first. */
  readonly keys: readonly CatalogKey[];
  readonly foreignKeys: readonly CatalogForeignKey[];
  readonly indexes: readonly CatalogIndex[];
}

export type ColumnKind =
  | 'integer'
  | 'number'
  | 'text'
  | 'boolean'
  | 'date'
  | 'datetime'
  | 'uuid'
  | 'enum'
  | 'array'
  | 'object'
  /** JSON of any kind, which only its text gives whole. */
  | 'json'
  /** The address of a machine. */
  | 'address'
  /** What makes no sense as text: bytes, shapes, search indexes. */
  | 'opaque'
  | 'other';

export interface CatalogColumn {
  readonly name: string;
  readonly sql: string;
  /** As the database writes it, for people. */
  readonly type: string;
  readonly kind: ColumnKind;
  /** The schema of its type, if callers' values are cast to that type. */
  readonly typeSchema?: string;
  /** The only values, by the type or a check. */
  readonly labels?: readonly string[];
  /** In characters. */
  readonly maxLength?: number;
  readonly nullable: boolean;
  /** It may hold values that JSON lacks, such as NaN, which leave as null. */
  readonly holdsMore?: true;
  /** Its type is one that no cursor of a page keeps. */
  readonly hasNoCursor?: true;
  readonly comment?: string;
  readonly securityLabel?: string;
  /** The number of different values; if negative, as a share of the rows. */
  readonly distinct?: number;
}

/** Names of columns whose values identify one row. */
export interface CatalogKey {
  readonly columns: readonly string[];
  readonly primary: boolean;
}

export interface CatalogForeignKey {
  readonly columns: readonly string[];
  readonly schema: string;
  readonly table: string;
  readonly targetColumns: readonly string[];
}

export interface CatalogIndex {
  /** The column by whose values it finds rows; absent if it begins with an expression. */
  readonly leading?: string;
  /** Columns in which it finds substrings. */
  readonly partsOf: readonly string[];
}

export interface ColumnGrant {
  readonly table: CatalogTable;
  readonly columns: readonly CatalogColumn[];
}
