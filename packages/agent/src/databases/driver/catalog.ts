/** What a driver tells of a database that nobody has described yet. A folder `catalog` beside the driver implements it. */
export interface CatalogSource {
  /** Where the database is, by a URL of the driver's and by the variables that its own programs read. */
  target(url: string | undefined, env: Readonly<Record<string, string | undefined>>): CatalogTargetResult;
  /** Reads catalogs alone, in one read-only transaction: no row of any table. Throws `DatabaseError`. */
  read(target: CatalogTarget, timeoutMs: number): Promise<Catalog>;
  /** SQL that says whether a text column holds the text of a parameter, large and small letters alike. */
  readonly contains: (column: string, param: string) => string;
  /** Absent where there are none: a file, which is read by whoever may read files. */
  readonly accounts?: CatalogAccounts;
}

export interface CatalogAccounts {
  /** The longest name, in characters. */
  readonly nameMax: number;
  /** What accounts are called there, in the plural. */
  readonly noun: string;
  /** The program in which a person runs statements. */
  readonly shell: string;
  /** What makes statements one change, all or nothing; absent where nothing does. */
  readonly transaction?: { readonly begin: string; readonly commit: string };
  /** The statements that make an account which may read these columns and nothing else; they hold no password. */
  statements(catalog: Catalog, account: string, grants: readonly ColumnGrant[]): readonly string[];
  /** How a person gives the account its password. */
  passwordHint(account: string): string;
  /** Makes the account, all of it or nothing. Throws `DatabaseError`. */
  create(target: CatalogTarget, statements: readonly string[], password: string): Promise<CreatedAccount>;
}

export type CatalogTargetResult =
  | { readonly ok: true; readonly target: CatalogTarget }
  /** One line that says what to do, without a value of the URL. */
  | { readonly ok: false; readonly problem: string };

export interface CatalogTarget {
  /** The database's section of a capability file, without the account. */
  readonly section: Readonly<Record<string, string | number>>;
  /** Whether a password is known; without one the server may let the account in all the same. */
  readonly hasPassword: boolean;
  readonly withPassword: (password: string) => CatalogTarget;
}

export type CreatedAccount = 'created' | 'exists' | 'not_allowed';

export interface Catalog {
  /** Of the database. */
  readonly name: string;
  readonly tables: readonly CatalogTable[];
  /** Names of the accounts that there are. */
  readonly accounts: ReadonlySet<string>;
}

export interface CatalogTable {
  readonly schema: string;
  readonly name: string;
  /** With its schema, as it is written in SQL. */
  readonly sql: string;
  readonly kind: 'table' | 'view' | 'materialized view' | 'foreign table';
  /** Why nobody can read it through a capability as it is, and what to do. */
  readonly unreadable?: string;
  readonly comment?: string;
  /** An estimate; undefined where the database has none. */
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
  /** As it is written in SQL. */
  readonly sql: string;
  /** As the database writes it; for people. */
  readonly type: string;
  readonly kind: ColumnKind;
  /** Of its type, where callers' values are made that type. */
  readonly typeSchema?: string;
  /** The only values, by the type or a check. */
  readonly labels?: readonly string[];
  /** Of text, in characters. */
  readonly maxLength?: number;
  readonly nullable: boolean;
  /** Values that its kind cannot give, such as NaN: they leave as null. */
  readonly holdsMore?: true;
  readonly comment?: string;
  readonly securityLabel?: string;
  /** How many different values there are; where negative, for each row. */
  readonly distinct?: number;
}

/** What no two rows have in common, and what finds at most one. Names of columns. */
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
  /** By which it finds values; none where it begins with an expression. */
  readonly leading?: string;
  /** Columns in which it finds parts of texts. */
  readonly partsOf: readonly string[];
}

export interface ColumnGrant {
  readonly table: CatalogTable;
  readonly columns: readonly CatalogColumn[];
}
