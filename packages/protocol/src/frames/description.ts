/** The meta capability's reserved name does not match it. */
export const CAPABILITY_NAME_PATTERN = '^[a-z][a-z0-9_]{0,47}$';

/** A property of the caller, as `from` of a parameter names it. */
export const NEED_PATTERN = '^principal\\.(subject|issuer|client_id|key_name|claims\\.[a-z][a-z0-9_]{0,62})$';

/** Before a capability's name, in the description and at the gateway. */
export const CAPABILITY_PATH_PREFIX = '/api/v1/capabilities/';

/**
 * What the internal meta capability answers: the OpenAPI description to serve and what the
 * gateway must know of each capability to route and time its calls. Never SQL, never connection data.
 */
export interface Description {
  readonly openapi: OpenApiDocument;
  readonly manifest: readonly ManifestEntry[];
  /** Absent if the agent requires nothing. */
  readonly identity?: IdentityTerms;
}

/** What the agent requires of callers, for all capabilities. */
export interface IdentityTerms {
  /** The greatest age of a token in seconds, since it was issued. */
  readonly max_age?: number;
}

export interface ManifestEntry {
  readonly name: string;
  /** `expose_in_openapi`: whether `/openapi.json` and `tools/list` show it. */
  readonly exposed: boolean;
  readonly timeout_ms: number;
  /** What the capability takes from the caller, each a NEED_PATTERN; absent if nothing. */
  readonly needs?: readonly string[];
  /** Parameters of the next page, each with the field of the last row that gives its value; absent if there are none. */
  readonly paging?: Readonly<Record<string, string>>;
}

/** The parts of an OpenAPI 3.1 document that the gateway touches; the rest passes through. */
export interface OpenApiDocument {
  readonly openapi: string;
  readonly info: { readonly title: string; readonly version: string; readonly description?: string };
  readonly paths: Readonly<Record<string, unknown>>;
  readonly [key: string]: unknown;
}
