import type { LogLevel } from '../telemetry/log.ts';
import type { KeyRecord } from '../auth/api-keys/key-record.ts';
import type { ProxyVariables, TracesConfig } from '@svc/edge';
import type { Issuer } from '@svc/identity';
import type { Cidr } from '../network/cidr.ts';

/** The environment after parsing: every value checked, every default applied. `settings.ts` says what each setting means. */
export interface GatewayConfig {
  readonly listen: { readonly host: string | undefined; readonly port: number };
  /** At least one: the default service, which is the first. */
  readonly services: readonly ServiceConfig[];
  readonly hasServicesFile: boolean;
  /** Paths of files that `services` was read from and that may change while the gateway runs. */
  readonly reloadedFiles: readonly string[];
  /** Without a trailing slash. */
  readonly publicUrl: string | undefined;
  /** Audiences that agents may sign, normalised; undefined accepts any. */
  readonly agentUrls: readonly string[] | undefined;
  /** A number, or a host name that has one address for each replica. */
  readonly replicas: number | { readonly dnsName: string };
  readonly linksPerReplica: number | undefined;
  readonly maxAgentLinks: number | undefined;
  readonly corsOrigins: readonly string[] | '*';
  readonly ipAllowList: readonly Cidr[] | undefined;
  readonly trustedProxies: readonly Cidr[];
  /** Of each source. */
  readonly rateLimit: RateConfig | undefined;
  readonly principalRateLimit: RateConfig | undefined;
  readonly principalMaxConcurrentCalls: number | undefined;
  readonly valkey: ValkeyConfig | undefined;
  readonly emitOpenapiSnapshot: boolean;
  readonly maxRequestBodyBytes: number;
  readonly bodyReadTimeoutMs: number;
  readonly keepAliveMs: number;
  readonly shutdownDelayMs: number;
  readonly readyAfterMs: number;
  readonly agentWaitMs: number;
  /** Undefined if `/readyz` does not ask for databases. */
  readonly readyDatabases: 'any' | 'all' | undefined;
  readonly tls: { readonly cert: string; readonly key: string } | undefined;
  readonly compress: 'gzip' | undefined;
  readonly mcpOutputSchema: boolean;
  readonly mcpSessions: boolean;
  /** Newest first. */
  readonly mcpRevisions: readonly string[];
  readonly metricsListen: { readonly host: string | undefined; readonly port: number } | undefined;
  /** Whether callers find pages of the console at the listener of their calls. */
  readonly consolePublic: boolean;
  /** The console of operators, at a listener of its own. */
  readonly console: ConsoleConfig | undefined;
  readonly traces: TracesConfig | undefined;
  /** The variables that name proxies, through which the keys of issuers are fetched. */
  readonly proxyVariables: ProxyVariables;
  /** Processes that serve; if 1, the process has no primary. */
  readonly workers: number;
  readonly logProbes: boolean;
  readonly logLevel: LogLevel;
}

/** A service: the agents and callers that meet there. */
export interface ServiceConfig {
  readonly id: string;
  /** Raw 32-byte Ed25519 public keys. */
  readonly agentPublicKeys: readonly Uint8Array[];
  readonly keys: readonly KeyRecord[];
  /** Undefined if no issuer's tokens are taken. */
  readonly tokens: TokenConfig | undefined;
}

export interface ConsoleConfig {
  readonly listen: GatewayConfig['listen'];
  /** Of the token that opens the console, hex in lower case. */
  readonly tokenSha256: string;
  /** Whether a proxy in front of it does TLS. */
  readonly behindTlsProxy: boolean;
  /** Where a trace is shown, with `{trace_id}` in place of its id. */
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
  /** The names of everything that the gateway keeps there begin with it. */
  readonly prefix: string;
}

export interface TokenConfig {
  /** At least one. */
  readonly issuers: readonly Issuer[];
  /** The URL of the gateway, which tokens must be for. */
  readonly publicUrl: string;
  readonly clockSkewMs: number;
  readonly refreshMs: number;
  readonly maxStaleMs: number;
}
