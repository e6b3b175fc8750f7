import type { ListenAddress } from '@svc/edge';
import type { Capability, ServiceInfo } from '../capabilities/model.ts';
import type { DatabaseConfig } from '../databases/driver.ts';

/** The capability file after parsing: every value checked, every default applied, every secret resolved. */
export interface AgentConfig {
  readonly service: ServiceInfo;
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
