import type { ListenAddress, TracesConfig } from '@svc/edge';
import type { Issuer } from '@svc/identity';
import type { Position } from '../capabilities/fault.ts';
import type { Capability, ServiceInfo } from '../capabilities/model.ts';
import type { DatabaseConfigs } from '../databases/driver/driver.ts';

/** The capability file after parsing: every value checked, every default applied, every secret resolved. */
export interface AgentConfig {
  readonly service: ServiceInfo;
  /** Whose calls alone are taken; absent where the file does not say. */
  readonly serviceId?: string;
  readonly runtime: {
    readonly maxConcurrentRequests: number;
    readonly queueSize: number;
    /** How many processes run calls; with 1 it is the agent's own. */
    readonly workers: number;
    /** Whether a database that is away keeps the agent from starting and reloading, also where another is not. */
    readonly requireAllDatabases: boolean;
    /** How often all capabilities are verified again; absent for never. */
    readonly reverifyMs?: number;
  };
  readonly gateway: GatewayLinkConfig;
  /** By name; that of the only one, where the file has `database`, is empty. */
  readonly databases: DatabaseConfigs;
  /** That of capabilities which name none; absent where each has to. */
  readonly usualDatabase?: string;
  readonly logging: {
    /** Of the running agent. */
    readonly output: 'file' | 'stdout';
    readonly maxSizeBytes: number;
    readonly maxFiles: number;
  };
  /** Absent without metrics. */
  readonly metricsListen?: ListenAddress;
  /** Absent where no traces are made. */
  readonly traces?: TracesConfig;
  readonly capabilities: readonly Capability[];
  /** Absent where the agent does not ask who calls. */
  readonly identity?: IdentityConfig;
}

/** Whom the agent believes who calls. */
export interface IdentityConfig {
  /** `token`: it verifies tokens itself; `gateway`: the gateway's word counts. */
  readonly trust: 'token' | 'gateway';
  /** Whether calls without a token are taken, on the gateway's word. */
  readonly acceptsKeys: boolean;
  /** Greatest age of a token in seconds; absent for any. */
  readonly maxAgeSeconds?: number;
  /** Whose tokens are verified; none under `gateway`. */
  readonly issuers: readonly Issuer[];
  /** Where each of them stands in the file. */
  readonly issuerPositions: readonly Position[];
}

interface GatewayLinkConfig {
  /**
   * As written in the file, each of another gateway. The audience that the handshake signs is the one that is dialled, with
   * the number of a replica for `{replica}`.
   */
  readonly urls: readonly string[];
  /** To all gateways together. */
  readonly maxLinks: number;
  readonly resolveIntervalMs: number;
  /** 32-byte Ed25519 seed. */
  readonly privateKeySeed: Uint8Array;
  /** PEM text of the certificate authorities to trust instead of the system's. */
  readonly ca?: string;
  /** The URL of the proxy by which the agent leaves, or `none`; absent for what the environment says. May hold a password. */
  readonly proxy?: string;
  /** PEM text of the authorities that may have signed the certificate of the proxy. */
  readonly proxyCa?: string;
}
