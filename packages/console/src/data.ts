/** What the data endpoints of the operator's console answer: the one truth of both sides. Times are RFC 3339. */

/** `GET /console/data/overview`. Rates, times and errors are those of the last minute. */
export interface Overview {
  readonly replica: string;
  readonly version: string;
  readonly uptime_s: number;
  readonly now: string;
  /** How long one entry of a series is. */
  readonly step_s: number;
  /** Processes of agents with a link to this replica. */
  readonly agents: number;
  readonly rate_per_s: number;
  /** Null without a call. */
  readonly p95_ms: number | null;
  /** From 0 to 1. */
  readonly error_ratio: number;
  readonly warnings: readonly string[];
  /** Of all calls. */
  readonly series: Series;
  /** The busiest first. */
  readonly capabilities: readonly CapabilityFigures[];
}

export interface CapabilityFigures {
  readonly name: string;
  /** Only where there may be several. */
  readonly service?: string | undefined;
  readonly calls_per_s: number;
  readonly p95_ms: number | null;
  readonly error_ratio: number;
  readonly last_error_code?: string | undefined;
  readonly series: Series;
}

/** The oldest first; the last step is not over yet. */
export interface Series {
  readonly calls: readonly number[];
  readonly errors: readonly number[];
  readonly p95_ms: readonly (number | null)[];
}

/**
 * `GET /console/data/calls`: the newest first, at most 100. Of the query `capability`, `key` and `error` (a code, or `any`)
 * are compared as a whole, `status` is one like `404` or a class like `4xx`, `q` a part of any field.
 */
export interface Calls {
  readonly calls: readonly RecordedCall[];
  /** For `before`, where there are more. */
  readonly next_before?: number | undefined;
  /** How many are kept at most. */
  readonly kept_max: number;
  /** Came too close together to be kept, since the start. */
  readonly dropped: number;
}

/** The fields of a `request` record of the log. */
export interface RecordedCall {
  /** Newer ones have greater numbers. */
  readonly id: number;
  readonly time: string;
  readonly request_id: string;
  readonly api_key_name: string;
  readonly capability: string;
  readonly http_status: number;
  readonly method: string;
  readonly route: string;
  readonly source: string;
  readonly duration_ms: number;
  readonly error_code: string;
  readonly mcp_method?: string | undefined;
  readonly service?: string | undefined;
  readonly principal?: string | undefined;
  readonly issuer?: string | undefined;
  readonly subject?: string | undefined;
  readonly client_id?: string | undefined;
  readonly token_id?: string | undefined;
  readonly auth_failure?: string | undefined;
  readonly trace_id?: string | undefined;
  readonly trace_flags?: string | undefined;
  /** Where its trace can be seen; undefined where it is not recorded. */
  readonly trace_url?: string | undefined;
}

/** `GET /console/data/keys`. */
export interface Keys {
  readonly keys: readonly KeyUse[];
  /** Those that agents offer: what a permission can be for. */
  readonly capabilities: readonly OfferedCapability[];
}

export interface KeyUse {
  readonly name: string;
  readonly key_id?: string | undefined;
  readonly service?: string | undefined;
  /** Empty for a wildcard. */
  readonly permissions: readonly string[];
  /** Of those, the names that no agent offers. */
  readonly unknown_permissions: readonly string[];
  readonly wildcard: boolean;
  /** Undefined: not since the start. */
  readonly last_used?: string | undefined;
  /** Requests since the start. */
  readonly calls: number;
  readonly expires_at?: string | undefined;
}

export interface OfferedCapability {
  readonly name: string;
  readonly service?: string | undefined;
}

/** `GET /console/data/agents`: at most 1,000 of each. */
export interface Agents {
  readonly agents: readonly ConnectedAgent[];
  /** Those that are away included, whose capabilities are still described to callers. */
  readonly offers: readonly Offer[];
}

export interface ConnectedAgent {
  readonly instance_id: string;
  readonly key_id: string;
  readonly service?: string | undefined;
  readonly source: string;
  /** Of its oldest link. */
  readonly since: string;
  /** Of the capability file, as the newest link of the agent describes it. */
  readonly version?: string | undefined;
  readonly links: number;
  readonly capabilities: number;
  /** Calls that it has and has not answered. */
  readonly in_flight: number;
}

export interface Offer {
  readonly instance_id: string;
  readonly key_id: string;
  readonly service?: string | undefined;
  readonly connected: boolean;
  readonly capabilities: readonly string[];
}

/**
 * `GET /console/data/author`, of `svc-agent dev`: the capability file as it was checked last. Of faults and findings there are
 * 200 at most.
 */
export interface AuthorFile {
  readonly file: string;
  readonly checked_at: string;
  readonly accepted: boolean;
  /** Where what was accepted last is served; undefined where nothing is. */
  readonly url?: string | undefined;
  readonly faults: readonly AuthorFault[];
  readonly fault_count: number;
  /** Of what was accepted last; undefined while it is not known. */
  readonly lint?: readonly AuthorFinding[] | undefined;
  readonly lint_count?: number | undefined;
  /** Why it will not be known. */
  readonly lint_problem?: string | undefined;
  /** What was accepted last. */
  readonly capabilities: readonly AuthoredName[];
}

export interface AuthorFault {
  readonly path: string;
  readonly message: string;
  readonly line?: number | undefined;
  readonly column?: number | undefined;
  /** What the database says. */
  readonly detail?: string | undefined;
  /** The line of the file, and a mark below. */
  readonly excerpt?: string | undefined;
}

export interface AuthorFinding {
  readonly rule: string;
  readonly level: 'error' | 'warn' | 'advice';
  readonly path: string;
  readonly message: string;
  readonly line?: number | undefined;
  readonly column?: number | undefined;
}

export interface AuthoredName {
  readonly name: string;
  readonly line: number;
}

/** `GET /console/data/author?name=`: a capability of what was accepted last. */
export interface AuthoredCapability {
  readonly name: string;
  readonly line: number;
  readonly description: string;
  readonly sql: string;
  readonly sql_line: number;
  readonly params: readonly AuthoredParam[];
  /** What callers choose among by `sort`, each with its fields, which those of `paging` end. */
  readonly orders?: Readonly<Record<string, string>> | undefined;
  readonly result: readonly AuthoredField[];
  readonly limits: Readonly<Record<string, number | string>>;
  /** How the database means to run it, for any parameters; undefined while it is not known. */
  readonly plan?: readonly string[] | undefined;
  /** Why it will not be known. */
  readonly plan_problem?: string | undefined;
  readonly examples: readonly AuthoredExample[];
}

export interface AuthoredParam {
  readonly name: string;
  readonly required: boolean;
  readonly description?: string | undefined;
  /** What of the caller gives its value. */
  readonly from?: string | undefined;
  /** The condition that stands in the statement for it. */
  readonly filter?: string | undefined;
  /** With the words of JSON Schema. */
  readonly schema: Readonly<Record<string, unknown>>;
}

export interface AuthoredField {
  readonly name: string;
  readonly type: string;
  readonly nullable: boolean;
  readonly description?: string | undefined;
}

export interface AuthoredExample {
  readonly line: number;
  readonly params: Readonly<Record<string, unknown>>;
  readonly expect: Readonly<Record<string, unknown>>;
}
