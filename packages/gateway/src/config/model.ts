import type { LogLevel } from '../telemetry/log.ts';
import type { KeyRecord } from '../auth/api-keys/key-record.ts';
import type { ProxyVariables, TracesConfig } from '@svc/edge';
import type { Issuer } from '@svc/identity';
import type { Cidr } from '../network/cidr.ts';

/** The environment after parsing: every value checked, every default applied. */
export interface GatewayConfig {
  readonly listen: { readonly host: string | undefined; readonly port: number };
  /** At least one: the default one, which is the first. */
  readonly services: readonly ServiceConfig[];
  /** Whether there may be others besides the default one. */
  readonly hasServicesFile: boolean;
  /** What `services` was read from and may change while the gateway runs: paths; empty where all stands in settings. */
  readonly reloadedFiles: readonly string[];
  /** Without a trailing slash. */
  readonly publicUrl: string | undefined;
  /** Audiences that agents may sign, normalised; undefined accepts any. */
  readonly agentUrls: readonly string[] | undefined;
  /** A number, or a host name that has one address for each replica. */
  readonly replicas: number | { readonly dnsName: string };
  readonly linksPerReplica: number | undefined;
  /** Of each serving process; undefined for no bound. */
  readonly maxAgentLinks: number | undefined;
  readonly corsOrigins: readonly string[] | '*';
  readonly ipAllowList: readonly Cidr[] | undefined;
  readonly trustedProxies: readonly Cidr[];
  /** Of each source. */
  readonly rateLimit: RateConfig | undefined;
  readonly principalRateLimit: RateConfig | undefined;
  readonly principalMaxConcurrentCalls: number | undefined;
  /** Undefined where this gateway shares limits and revocations with no other. */
  readonly valkey: ValkeyConfig | undefined;
  readonly emitOpenapiSnapshot: boolean;
  readonly maxRequestBodyBytes: number;
  readonly bodyReadTimeoutMs: number;
  /** How long a connection is kept on which nothing comes. */
  readonly keepAliveMs: number;
  /** How long a replica that was asked to end serves on as before, but says that it is not ready; 0: not at all. */
  readonly shutdownDelayMs: number;
  /** For how long, at most, a replica that starts may wait for the agents of all its services; 0: not at all. */
  readonly readyAfterMs: number;
  /** How long a call may wait for another agent when the last one was lost just before; 0: not at all. */
  readonly agentWaitMs: number;
  /** Undefined where `/readyz` does not ask for databases. */
  readonly readyDatabases: 'any' | 'all' | undefined;
  readonly tls: { readonly cert: string; readonly key: string } | undefined;
  /** How large answers of calls leave to those who take it; undefined: as they are. */
  readonly compress: 'gzip' | undefined;
  /** Whether `tools/list` has the schemas of results. */
  readonly mcpOutputSchema: boolean;
  /** Whether clients of MCP get a session id. */
  readonly mcpSessions: boolean;
  /** Those of MCP that are served, newest first. */
  readonly mcpRevisions: readonly string[];
  readonly metricsListen: { readonly host: string | undefined; readonly port: number } | undefined;
  /** Whether callers find the pages of the console at the listener of their calls. */
  readonly consolePublic: boolean;
  /** That of operators, at a listener of its own; undefined for none. */
  readonly console: ConsoleConfig | undefined;
  /** Undefined where no traces are made. */
  readonly traces: TracesConfig | undefined;
  /** The variables that name proxies, which are on the way to the keys of issuers. */
  readonly proxyVariables: ProxyVariables;
  /** Processes that serve; with 1 there is no other. */
  readonly workers: number;
  /** Whether the request log has requests of `/healthz` and `/readyz`. */
  readonly logProbes: boolean;
  readonly logLevel: LogLevel;
}

/** One service: whose agents and callers meet. */
export interface ServiceConfig {
  readonly id: string;
  /** Raw 32-byte Ed25519 public keys. */
  readonly agentPublicKeys: readonly Uint8Array[];
  readonly keys: readonly KeyRecord[];
  /** Undefined where no issuer's tokens are taken. */
  readonly tokens: TokenConfig | undefined;
}

export interface ConsoleConfig {
  readonly listen: GatewayConfig['listen'];
  /** Of the token that opens it, hex in lower case. */
  readonly tokenSha256: string;
  /** Somebody else's TLS stands before it. */
  readonly behindTlsProxy: boolean;
  /** Where a trace is shown, with `{trace_id}` in the place of its id; undefined for nowhere. */
  readonly traceUrl: string | undefined;
}

interface RateConfig {
  readonly requestsPerSecond: number;
  readonly burst: number;
}

export interface ValkeyConfig {
  readonly host: string;
  readonly port: number;
  readonly tls: boolean;
  readonly username: string | undefined;
  readonly password: string | undefined;
  readonly database: number;
  /** With which the names of everything that the gateway keeps there begin. */
  readonly prefix: string;
}

export interface TokenConfig {
  /** At least one. */
  readonly issuers: readonly Issuer[];
  /** Under which the gateway is reached: part of what tokens have to be for. */
  readonly publicUrl: string;
  readonly clockSkewMs: number;
  readonly refreshMs: number;
  readonly maxStaleMs: number;
}
