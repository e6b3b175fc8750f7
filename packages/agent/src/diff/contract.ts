/** What callers can rely on: how the capabilities of a file or of a gateway look from outside. */
export interface Contract {
  readonly title: string;
  readonly version: string;
  readonly description: string;
  readonly capabilities: ReadonlyMap<string, CapabilityContract>;
  /** The error codes of each kind of failure. */
  readonly errorCodes: Readonly<Record<string, readonly string[]>>;
  /** What only a capability file says. */
  readonly file?: FileTerms;
}

interface FileTerms {
  readonly serviceId?: string;
  /** `identity` as it is written. */
  readonly identity?: unknown;
}

export interface CapabilityContract {
  readonly description: string;
  /** Parameters of calls that callers are shown, as JSON; undefined where there are none. */
  readonly examplesJson: string | undefined;
  readonly params: ReadonlyMap<string, ParamContract>;
  /** In the order of a row. */
  readonly fields: ReadonlyMap<string, FieldContract>;
  /** What an answer has beside `rows`, `count` and `truncated`: name to JSON Schema. */
  readonly extras: ReadonlyMap<string, unknown>;
  /** What only a capability file says. */
  readonly file?: CapabilityTerms;
}

export interface CapabilityTerms {
  /** Callable, but neither in `/openapi.json` nor in `tools/list`. */
  readonly isHidden: boolean;
  readonly timeoutMs: number;
  readonly maxRows: number;
  readonly maxBytes: number;
  readonly onLimit: 'truncate' | 'error';
  /** Properties of who calls that a call needs. */
  readonly needs: readonly string[];
  readonly sql: string;
  readonly allowFunctions: readonly string[];
  readonly allowForeignTables: readonly string[];
}

export interface ParamContract {
  readonly isRequired: boolean;
  readonly description: string;
  /** As JSON; undefined where there is none. */
  readonly defaultJson: string | undefined;
  readonly value: ValueContract;
}

export interface FieldContract {
  readonly isNullable: boolean;
  readonly description: string;
  readonly value: ValueContract;
}

/** Type and rules of a value. What is absent bounds nothing. */
export interface ValueContract {
  /** Of the capability file; another one as the description says it. */
  readonly type: string;
  readonly lower?: Bound;
  readonly upper?: Bound;
  readonly multipleOf?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly pattern?: string;
  readonly format?: string;
  /** The values as JSON. */
  readonly enum?: readonly string[];
  readonly items?: ValueContract;
  /** Keywords that are not known here, as JSON. */
  readonly others: Readonly<Record<string, string>>;
}

export interface Bound {
  readonly value: number;
  /** Whether the bound itself is refused. */
  readonly isExclusive: boolean;
}
