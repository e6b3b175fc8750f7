import type { ListenAddress } from '@svc/edge';

/** The capability file after parsing: every value checked, every default applied, every secret resolved. */
export interface AgentConfig {
  readonly service: { readonly title: string; readonly version: string; readonly description: string };
  readonly runtime: { readonly maxConcurrentRequests: number; readonly queueSize: number };
  readonly gateway: GatewayLinkConfig;
  readonly database: DatabaseConfig;
  readonly logging: { readonly maxSizeBytes: number; readonly maxFiles: number };
  /** Absent without metrics. */
  readonly metricsListen?: ListenAddress;
  readonly capabilities: readonly Capability[];
}

interface GatewayLinkConfig {
  /** As written in the file; also the audience that the handshake signs. */
  readonly url: string;
  /** 32-byte Ed25519 seed. */
  readonly privateKeySeed: Uint8Array;
  /** PEM text of the certificate authorities to trust instead of the system's. */
  readonly ca?: string;
}

export interface DatabaseConfig {
  readonly driver: 'postgres';
  readonly host: string;
  readonly port: number;
  readonly name: string;
  readonly user: string;
  readonly password: string;
  readonly sslmode: 'disable' | 'prefer' | 'require' | 'verify-full';
  /** PEM text of the certificate authority that signs the database's certificate. */
  readonly sslRootCert?: string;
  readonly maxConnections: number;
  readonly requireReadonlyAccount: boolean;
  /** Of that setting; absent where the file does not have it. */
  readonly requireReadonlyAccountPosition?: Position;
}

export interface Capability {
  readonly name: string;
  readonly description: string;
  /** As written, with `:name` parameters. */
  readonly sql: string;
  readonly params: readonly Param[];
  /** In file order, which is the order of fields in a row. */
  readonly result: readonly ResultField[];
  readonly limits: CapabilityLimits;
  /** Names from `policy.allow_functions`, lower case, optionally schema-qualified. */
  readonly allowFunctions: readonly string[];
  readonly exposeInOpenapi: boolean;
  readonly sqlPosition: Position;
}

export interface CapabilityLimits {
  readonly timeoutMs: number;
  readonly maxRows: number;
  /** Of the JSON `rows` array as sent, brackets and commas included. */
  readonly maxBytes: number;
  readonly onLimit: 'truncate' | 'error';
}

export interface Param {
  readonly name: string;
  readonly required: boolean;
  readonly description?: string;
  readonly schema: ParamSchema;
  readonly position: Position;
}

export const PARAM_TYPES = [
  'integer',
  'number',
  'string',
  'boolean',
  'date',
  'datetime',
  'uuid',
  'array',
  'object',
] as const;
export type ParamType = (typeof PARAM_TYPES)[number];

/** Type and constraints, with the names and meaning of JSON Schema. */
export interface ParamSchema {
  readonly type: ParamType;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly exclusiveMinimum?: number;
  readonly exclusiveMaximum?: number;
  readonly multipleOf?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly pattern?: string;
  readonly format?: string;
  readonly enum?: readonly unknown[];
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly default?: unknown;
  /** Only for `array`; its type is a scalar. */
  readonly items?: ParamSchema;
}

export const RESULT_TYPES = [
  'integer',
  'number',
  'string',
  'boolean',
  'date',
  'datetime',
  'array',
  'object',
] as const;
export type ResultType = (typeof RESULT_TYPES)[number];

export interface ResultField {
  readonly name: string;
  readonly type: ResultType;
  readonly description?: string;
  readonly format?: string;
  readonly nullable: boolean;
  readonly position: Position;
}

/** A place in the capability file; both count from 1. */
export interface Position {
  readonly line: number;
  readonly column: number;
}

/** What is wrong with the configuration, fit to be shown: never a secret, never SQL. */
export interface Fault {
  /** Dotted path of the setting, e.g. `capabilities.find_book.params.id.type`. */
  readonly path: string;
  readonly message: string;
  readonly position?: Position;
}
