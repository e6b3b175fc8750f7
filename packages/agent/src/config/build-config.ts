import type { AgentConfig, Capability, Position } from './agent-config.ts';
import {
  RUNTIME_DEFAULTS,
  type CapabilityFile,
  type CapabilitySpec,
  type LimitsSpec,
} from './capability-file.ts';
import { parseDuration, readListenAddress } from '@svc/edge';
import type { Path } from './path.ts';
import { parseSize } from './size.ts';

export interface BuildSecrets {
  readonly privateKeySeed: Uint8Array;
  readonly password: string;
  readonly gatewayCa: string | undefined;
  readonly databaseCa: string | undefined;
}

export type PositionOf = (path: Path) => Position;

/** Puts a file without faults into the agent's terms, with the defaults of decisions section 6. */
export function buildConfig(
  file: CapabilityFile,
  secrets: BuildSecrets,
  positionOf: PositionOf,
): AgentConfig {
  const { service, runtime, gateway, database, logging, metrics, defaults } = file;
  const { max_concurrent_requests, queue_size } = { ...RUNTIME_DEFAULTS, ...runtime };
  const metricsListen = readListenAddress(metrics?.addr ?? '');
  return {
    service: {
      title: service?.title ?? 'Capabilities',
      version: service?.version ?? '0.0.0',
      description: service?.description ?? '',
    },
    runtime: { maxConcurrentRequests: max_concurrent_requests, queueSize: queue_size },
    gateway: {
      url: gateway.url,
      privateKeySeed: secrets.privateKeySeed,
      ...(secrets.gatewayCa === undefined ? {} : { ca: secrets.gatewayCa }),
    },
    database: {
      driver: database.driver ?? 'postgres',
      host: database.host,
      port: database.port ?? 5432,
      name: database.name,
      user: database.user,
      password: secrets.password,
      sslmode: database.sslmode ?? 'prefer',
      ...(secrets.databaseCa === undefined ? {} : { sslRootCert: secrets.databaseCa }),
      maxConnections: database.max_connections ?? 10,
      requireReadonlyAccount: database.require_readonly_account ?? false,
    },
    logging: {
      maxSizeBytes: parseSize(logging?.max_size ?? '10MB'),
      maxFiles: logging?.max_files ?? 5,
    },
    ...(metricsListen === undefined ? {} : { metricsListen }),
    capabilities: Object.entries(file.capabilities).map(([name, spec]) =>
      buildCapability(name, spec, defaults ?? {}, positionOf),
    ),
  };
}

function buildCapability(
  name: string,
  spec: CapabilitySpec,
  defaults: LimitsSpec,
  positionOf: PositionOf,
): Capability {
  const path = ['capabilities', name];
  const limits = { ...defaults, ...spec.policy };
  return {
    name,
    description: spec.description ?? '',
    sql: spec.sql,
    params: Object.entries(spec.params ?? {}).map(
      ([param, { required = false, description, ...schema }]) => ({
        name: param,
        required,
        ...(description === undefined ? {} : { description }),
        schema,
        position: positionOf([...path, 'params', param]),
      }),
    ),
    result: Object.entries(spec.result).map(([field, { nullable = true, ...rest }]) => ({
      name: field,
      ...rest,
      nullable,
      position: positionOf([...path, 'result', field]),
    })),
    limits: {
      timeoutMs: parseDuration(limits.timeout ?? '30s'),
      maxRows: limits.max_rows ?? 1000,
      maxBytes: parseSize(limits.max_bytes ?? '1MB'),
      onLimit: spec.policy?.on_limit ?? 'truncate',
    },
    allowFunctions: (spec.policy?.allow_functions ?? []).map((entry) => entry.toLowerCase()),
    exposeInOpenapi: spec.expose_in_openapi ?? true,
    sqlPosition: positionOf([...path, 'sql']),
  };
}
