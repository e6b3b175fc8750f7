import type { KeyRecord } from '../auth/api-keys/key-record.ts';
import type { Issuer } from '@svc/identity';
import type { Cidr } from '../network/cidr.ts';

/** The environment after parsing: every value checked, every default applied. */
export interface GatewayConfig {
  readonly listen: { readonly host: string | undefined; readonly port: number };
  /** Raw 32-byte Ed25519 public keys; at least one. */
  readonly agentPublicKeys: readonly Uint8Array[];
  readonly keys: readonly KeyRecord[];
  /** Without a trailing slash. */
  readonly publicUrl: string | undefined;
  /** Audiences that agents may sign, normalised; undefined accepts any. */
  readonly agentUrls: readonly string[] | undefined;
  readonly corsOrigins: readonly string[] | '*';
  readonly ipAllowList: readonly Cidr[] | undefined;
  readonly trustedProxies: readonly Cidr[];
  /** Undefined where no issuer's tokens are taken. */
  readonly tokens: TokenConfig | undefined;
  /** Of each source. */
  readonly rateLimit: RateConfig | undefined;
  readonly principalRateLimit: RateConfig | undefined;
  readonly principalMaxConcurrentCalls: number | undefined;
  /** Undefined where this gateway shares limits and revocations with no other. */
  readonly valkey: ValkeyConfig | undefined;
  readonly emitOpenapiSnapshot: boolean;
  readonly maxRequestBodyBytes: number;
  readonly bodyReadTimeoutMs: number;
  readonly tls: { readonly cert: string; readonly key: string } | undefined;
  readonly metricsListen: { readonly host: string | undefined; readonly port: number } | undefined;
  readonly logLevel: 'debug' | 'info' | 'warn' | 'error';
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
  /** Under which the gateway is reached: of what tokens have to be for. */
  readonly publicUrl: string;
  readonly clockSkewMs: number;
  readonly refreshMs: number;
  readonly maxStaleMs: number;
}
