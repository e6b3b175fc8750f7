import type { ExamplePrincipal, Expectation } from '../capabilities/example.ts';
import type { ParamSchema, ResultField } from '../capabilities/model.ts';
import type { DatabaseSection } from '../databases/driver/driver.ts';

export const RUNTIME_DEFAULTS = {
  max_concurrent_requests: 64,
  queue_size: 1000,
  workers: 1,
  require_all_databases: false,
};

export const GATEWAY_DEFAULTS = { max_links: 64, resolve_interval: '10s' };

/** The file as written, once it has passed `fileSchema`. */
export interface CapabilityFile {
  readonly service?: {
    readonly id?: string;
    readonly title?: string;
    readonly version?: string;
    readonly description?: string;
  };
  readonly runtime?: {
    readonly max_concurrent_requests?: number;
    readonly queue_size?: number;
    readonly workers?: number;
    readonly require_all_databases?: boolean;
    readonly reverify?: string;
  };
  readonly gateway: {
    readonly url: string | readonly string[];
    readonly max_links?: number;
    readonly resolve_interval?: string;
    readonly agent_private_key?: string;
    readonly agent_private_key_file?: string;
    readonly ca_file?: string;
    readonly proxy?: string;
    readonly proxy_ca_file?: string;
  };
  /** As its driver's schema says; either this or `databases`. */
  readonly database?: DatabaseSection;
  /** By name. */
  readonly databases?: Readonly<Record<string, DatabaseSection>>;
  readonly identity?: IdentitySpec;
  readonly logging?: {
    readonly output?: 'file' | 'stdout';
    readonly max_size?: string | number;
    readonly max_files?: number;
  };
  readonly metrics?: { readonly addr?: string };
  readonly telemetry?: { readonly traces?: 'otlp'; readonly headers_file?: string };
  readonly defaults?: DefaultsSpec;
  readonly capabilities: Readonly<Record<string, CapabilitySpec>>;
}

/** The sections that callers see. */
export type OfferSections = Pick<CapabilityFile, 'service' | 'defaults' | 'capabilities'>;

/** The other sections; what they name may be on another machine. */
export const UNSEEN_SECTIONS: ReadonlySet<string> = new Set<
  Exclude<keyof CapabilityFile, keyof OfferSections>
>(['gateway', 'database', 'databases', 'identity', 'runtime', 'logging', 'metrics', 'telemetry']);

export interface IdentitySpec {
  readonly trust: 'token' | 'gateway';
  readonly api_keys?: 'accept' | 'refuse';
  readonly max_age?: string;
  /** As `parseIssuers` takes them. */
  readonly issuers?: readonly unknown[];
}

interface DefaultsSpec extends LimitsSpec {
  readonly readonly?: true;
  readonly database?: string;
}

interface LimitsSpec {
  readonly timeout?: string;
  readonly max_rows?: number;
  readonly max_bytes?: string | number;
}

export interface CapabilitySpec {
  readonly description?: string;
  readonly database?: string;
  readonly sql: string;
  readonly params?: Readonly<Record<string, ParamSpec>>;
  readonly policy?: PolicySpec;
  readonly expose_in_openapi?: boolean;
  readonly result: Readonly<Record<string, ResultSpec>>;
  readonly examples?: readonly ExampleSpec[];
  readonly sort?: Readonly<Record<string, string>>;
  readonly paging?: Readonly<Record<string, string>> | string | readonly string[];
}

export interface ExampleSpec {
  readonly params?: Readonly<Record<string, unknown>>;
  readonly as?: string;
  readonly principal?: ExamplePrincipal;
  readonly expect?: Expectation;
  readonly publish?: boolean;
}

interface PolicySpec extends LimitsSpec {
  readonly on_limit?: 'truncate' | 'error';
  readonly allow_functions?: readonly string[];
  readonly allow_foreign_tables?: readonly string[];
}

export interface ParamSpec extends ParamSchema {
  readonly required?: boolean;
  readonly description?: string;
  readonly from?: string;
  readonly filter?: string;
}

type ResultSpec = Omit<ResultField, 'name' | 'nullable' | 'position'> & { readonly nullable?: boolean };
