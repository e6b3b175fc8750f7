import type { ListenAddress, TracesConfig } from '@svc/edge';
import type { Issuer } from '@svc/identity';
import type { Position } from '../capabilities/fault.ts';
import type { Capability, ServiceInfo } from '../capabilities/model.ts';
import type { DatabaseConfigs } from '../databases/driver/driver.ts';

/** A capability file after all checks, with every default applied and every secret resolved. */
export interface AgentConfig {
  readonly service: ServiceInfo;
  /** The only service whose calls are accepted; absent if the file names none. */
  readonly serviceId?: string;
  readonly runtime: {
    readonly maxConcurrentRequests: number;
    readonly queueSize: number;
    /** How many processes run calls; with 1, only the agent's own. */
    readonly workers: number;
    /** Whether the agent neither starts nor reloads while one of its databases is away. */
    readonly requireAllDatabases: boolean;
    /** How often all capabilities are verified again; absent if never. */
    readonly reverifyMs?: number;
  };
  readonly gateway: GatewayLinkConfig;
  /** By name, which is empty for `database`. */
  readonly databases: DatabaseConfigs;
  /** The database of capabilities that name none; absent if each must name one. */
  readonly usualDatabase?: string;
  readonly logging: {
    readonly output: 'file' | 'stdout';
    readonly maxSizeBytes: number;
    readonly maxFiles: number;
  };
  readonly metricsListen?: ListenAddress;
  readonly traces?: TracesConfig;
  readonly capabilities: readonly Capability[];
  /** Absent if the agent does not ask who calls. */
  readonly identity?: IdentityConfig;
}

/** How the agent learns who the caller is: from the gateway, or from a token that it verifies itself. */
export interface IdentityConfig {
  /** `token`: it verifies tokens itself; `gateway`: the gateway's word counts. */
  readonly trust: 'token' | 'gateway';
  /** Whether the agent accepts calls without a token, on the gateway's word. */
  readonly acceptsKeys: boolean;
  readonly maxAgeSeconds?: number;
  /** None under `gateway`. */
  readonly issuers: readonly Issuer[];
  readonly issuerPositions: readonly Position[];
}

interface GatewayLinkConfig {
  /**
   * One for each gateway, as written in the file. The handshake signs the URL that is dialled, in which the number of a replica
   * replaces `{replica}`.
   */
  readonly urls: readonly string[];
  /** To all gateways together. */
  readonly maxLinks: number;
  readonly resolveIntervalMs: number;
  /** 32-byte Ed25519 seed. */
  readonly privateKeySeed: Uint8Array;
  /** PEM text. */
  readonly ca?: string;
  /** A URL, which may hold a password, or `none`; absent if the environment decides. */
  readonly proxy?: string;
  /** PEM text. */
  readonly proxyCa?: string;
}
