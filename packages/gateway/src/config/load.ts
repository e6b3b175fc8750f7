import { nearest, proxyVariables, readTraces, type ListenAddress, type TracesConfig } from '@svc/edge';
import { PARAMS_MAX_BYTES } from '@svc/protocol';
import type { Cidr } from '../network/cidr.ts';
import { readConsole } from './console.ts';
import { MCP_REVISIONS, parseMcpRevisions } from './mcp-revisions.ts';
import { BODY_MAX_BYTES } from './message-settings.ts';
import type { GatewayConfig, ServiceConfig, ValkeyConfig } from './model.ts';
import { parseCidr } from './parse/cidr.ts';
import { atLeastOne, good, parseList, type Parsed } from './parse/parsed.ts';
import {
  agentUrlOf,
  parseAgentUrl,
  parseCorsOrigins,
  parseListenAddress,
  parsePublicUrl,
} from './parse/urls.ts';
import {
  durationBetween,
  integerUpTo,
  numberUpTo,
  oneOf,
  parseBoolean,
  parseReplicas,
  parseWorkers,
} from './parse/values.ts';
import {
  createReadSettings,
  readNamedFile,
  type Environment,
  type Fault,
  type ReadFile,
  type ReadSettings,
} from './read-settings.ts';
import { readServices } from './services/read-services.ts';
import { SETTINGS } from './settings.ts';
import { readTlsFiles } from './tls-files.ts';
import { readValkey } from './valkey.ts';

export type LoadedConfig =
  | { readonly config: GatewayConfig; readonly warnings: readonly string[] }
  /** A setting may be missing because its name is misspelt, so warnings about names come with the faults. */
  | { readonly faults: readonly Fault[]; readonly warnings: readonly string[] };

export type LoadedServices =
  | { readonly services: readonly ServiceConfig[]; readonly warnings: readonly string[] }
  | { readonly faults: readonly Fault[] };

interface RevocationConfig {
  readonly valkey: ValkeyConfig;
  /** Of all key records; undefined if their settings are absent or at fault. */
  readonly keyIds: readonly string[] | undefined;
}

const MAX_RATE = 1_000_000;
const RELOADED = ['GATEWAY_API_KEYS_FILE', 'GATEWAY_SERVICES_FILE'] as const;

/**
 * Turns the environment into the gateway's configuration and applies defaults, or returns everything that is wrong with it.
 * An empty value counts as absent.
 */
export function loadConfig(env: Environment, readFile: ReadFile): LoadedConfig {
  const settings = createReadSettings(env);
  const { faults, isSet, read } = settings;
  const { services, issuerWarnings, keyWarnings } = readServices(settings, readFile);
  const publicUrl = read('GATEWAY_PUBLIC_URL', parsePublicUrl);
  const listen = read('GATEWAY_ADDR', parseListenAddress);
  const metricsListen = read('GATEWAY_METRICS_ADDR', parseListenAddress);
  const agentUrls = read('GATEWAY_AGENT_URLS', (text) =>
    atLeastOne(parseList(text, parseAgentUrl), 'WebSocket URLs, separated by commas'),
  );
  const rateLimit = readRate(settings, 'GATEWAY_RATE_LIMIT');
  const principalRateLimit = readRate(settings, 'GATEWAY_PRINCIPAL_RATE_LIMIT');
  const { valkey, warnings: valkeyWarnings } = readValkey(settings, readFile);
  const address = listen ?? { host: undefined, port: 8080 };
  if (isSameAddress(metricsListen, address)) {
    const message = 'is the same as the address of the gateway itself (GATEWAY_ADDR); choose another port';
    faults.push({ setting: 'GATEWAY_METRICS_ADDR', message });
  }
  const tls = readTlsFiles(settings, readFile);
  const operatorConsole = readConsole(settings, tls !== undefined);
  for (const [setting, other] of [
    ['GATEWAY_ADDR', address],
    ['GATEWAY_METRICS_ADDR', metricsListen],
  ] as const) {
    if (!isSameAddress(operatorConsole?.listen, other)) continue;
    const message = `is the same as ${setting}; choose another port`;
    faults.push({ setting: 'GATEWAY_CONSOLE_ADDR', message });
  }

  const readyDatabases = read('GATEWAY_READY_DATABASES', oneOf('any', 'all', 'none'));
  const config: GatewayConfig = {
    listen: address,
    services,
    hasServicesFile: isSet('GATEWAY_SERVICES_FILE'),
    reloadedFiles: RELOADED.flatMap((setting) => read(setting, (path) => good([path])) ?? []),
    publicUrl,
    agentUrls: agentUrls ?? (publicUrl === undefined ? undefined : [agentUrlOf(publicUrl)]),
    replicas: read('GATEWAY_REPLICAS', parseReplicas) ?? 1,
    linksPerReplica: read('GATEWAY_LINKS_PER_REPLICA', integerUpTo(16)),
    maxAgentLinks: read('GATEWAY_MAX_AGENT_LINKS', integerUpTo(1_000_000)),
    corsOrigins: read('GATEWAY_CORS_ALLOWED_ORIGINS', parseCorsOrigins) ?? [],
    ipAllowList: read('GATEWAY_IP_ALLOW_LIST', (text) =>
      atLeastOne(networks(text), 'networks, separated by commas'),
    ),
    trustedProxies: read('GATEWAY_TRUSTED_PROXY_CIDRS', networks) ?? [],
    rateLimit,
    principalRateLimit,
    principalMaxConcurrentCalls: read('GATEWAY_PRINCIPAL_MAX_CONCURRENT_CALLS', integerUpTo(MAX_RATE)),
    valkey,
    emitOpenapiSnapshot: read('GATEWAY_EMIT_OPENAPI_SNAPSHOT', parseBoolean) ?? false,
    maxRequestBodyBytes:
      read('GATEWAY_MAX_REQUEST_BODY_BYTES', integerUpTo(PARAMS_MAX_BYTES)) ?? BODY_MAX_BYTES,
    bodyReadTimeoutMs: read('GATEWAY_BODY_READ_TIMEOUT', durationBetween('1ms', '3600s')) ?? 10_000,
    // Callers are told of 65 s, which is longer than most proxies keep an idle connection.
    keepAliveMs: read('GATEWAY_KEEP_ALIVE_TIMEOUT', durationBetween('1s', '3600s')) ?? 67_000,
    shutdownDelayMs: read('GATEWAY_SHUTDOWN_DELAY', durationBetween('0s', '10m')) ?? 0,
    readyAfterMs: read('GATEWAY_READY_AFTER', durationBetween('0s', '10m')) ?? 0,
    readyDatabases: readyDatabases === 'none' ? undefined : readyDatabases,
    agentWaitMs: read('GATEWAY_AGENT_WAIT', durationBetween('0s', '1m')) ?? 0,
    tls,
    compress: read('GATEWAY_COMPRESS', oneOf('gzip')),
    mcpOutputSchema: read('GATEWAY_MCP_OUTPUT_SCHEMA', parseBoolean) ?? true,
    mcpSessions: read('GATEWAY_MCP_SESSIONS', parseBoolean) ?? true,
    mcpRevisions: read('GATEWAY_MCP_REVISIONS', parseMcpRevisions) ?? MCP_REVISIONS,
    metricsListen,
    consolePublic: read('GATEWAY_CONSOLE_PUBLIC', parseBoolean) ?? false,
    console: operatorConsole,
    traces: readTracesSettings(settings, env, readFile),
    proxyVariables: proxyVariables(env),
    workers: read('GATEWAY_WORKERS', parseWorkers) ?? 1,
    logProbes: read('GATEWAY_LOG_PROBES', parseBoolean) ?? true,
    logLevel: read('GATEWAY_LOG_LEVEL', oneOf('debug', 'info', 'warn', 'error')) ?? 'info',
  };
  const unknown = unknownSettings(env);
  return faults.length > 0
    ? { faults, warnings: unknown }
    : {
        config,
        warnings: [
          ...unknown,
          ...issuerWarnings,
          ...valkeyWarnings,
          ...agentUrlWarnings(config),
          ...keyWarnings,
        ],
      };
}

/**
 * Reads the services alone, from the present contents of the files. `readFile` may return contents that were read before.
 * The warnings are about services only.
 */
export function loadServices(env: Environment, readFile: ReadFile): LoadedServices {
  const settings = createReadSettings(env);
  const { services, issuerWarnings, keyWarnings } = readServices(settings, readFile);
  const { faults } = settings;
  return faults.length > 0 ? { faults } : { services, warnings: [...issuerWarnings, ...keyWarnings] };
}

/** Reads what `revoke-key` needs; the environment it runs in may lack the other settings. */
export function loadRevocation(
  env: Environment,
  readFile: ReadFile,
): RevocationConfig | { readonly faults: readonly Fault[] } {
  const settings = createReadSettings(env);
  const { valkey } = readValkey(settings, readFile);
  if (!settings.isSet('GATEWAY_VALKEY_URL')) {
    const message =
      'is not set, so gateways share no revocations; set it for all of them and here, or remove the record of the key ' +
      'and, if the record is in no file that is read again, restart them';
    return { faults: [{ setting: 'GATEWAY_VALKEY_URL', message }] };
  }
  if (valkey === undefined || settings.faults.length > 0) return { faults: settings.faults };
  const loaded = loadServices(env, readFile);
  if ('faults' in loaded) return { valkey, keyIds: undefined };
  const keyIds = loaded.services.flatMap(({ keys }) => keys.flatMap(({ keyId }) => keyId ?? []));
  return { valkey, keyIds };
}

function isSameAddress(one: ListenAddress | undefined, other: ListenAddress | undefined): boolean {
  return one !== undefined && one.port !== 0 && one.port === other?.port && one.host === other.host;
}

function unknownSettings(env: Environment): readonly string[] {
  return Object.keys(env)
    .filter((name) => name.startsWith('GATEWAY_') && !Object.hasOwn(SETTINGS, name))
    .toSorted()
    .map(
      (name) =>
        `${name} is not a setting of the gateway and is ignored; did you mean ${nearest(name, Object.keys(SETTINGS))}?`,
    );
}

function agentUrlWarnings({ agentUrls }: GatewayConfig): readonly string[] {
  if (agentUrls !== undefined) return [];
  return [
    'an agent is accepted whatever URL it dialled, so its signature could be relayed from another server; ' +
      'set GATEWAY_PUBLIC_URL or GATEWAY_AGENT_URLS',
  ];
}

function networks(text: string): Parsed<readonly Cidr[]> {
  return parseList(text, parseCidr);
}

/** Reads the two settings of a rate limit. */
function readRate(
  { faults, isSet, read }: ReadSettings,
  prefix: 'GATEWAY_RATE_LIMIT' | 'GATEWAY_PRINCIPAL_RATE_LIMIT',
): GatewayConfig['rateLimit'] {
  const rate = `${prefix}_REQUESTS_PER_SECOND` as const;
  const requestsPerSecond = read(rate, numberUpTo(MAX_RATE));
  const burst = read(`${prefix}_BURST`, integerUpTo(MAX_RATE));
  if (burst !== undefined && !isSet(rate)) {
    const message = `is set without ${rate}; set both, or the rate alone, or neither`;
    faults.push({ setting: `${prefix}_BURST`, message });
  }
  if (requestsPerSecond === undefined) return undefined;
  return { requestsPerSecond, burst: burst ?? Math.ceil(requestsPerSecond) };
}

/**
 * Reads GATEWAY_TRACES and, only if it is set, the variables of OpenTelemetry: clusters put those into every process
 * unasked.
 */
export function readTracesSettings(
  { faults, isSet, read }: ReadSettings,
  env: Environment,
  readFile: ReadFile,
): TracesConfig | undefined {
  const headersText = read('GATEWAY_TRACES_HEADERS_FILE', (path) =>
    readNamedFile(path, readFile, 'a readable file'),
  );
  if (read('GATEWAY_TRACES', oneOf('otlp')) === undefined) {
    if (isSet('GATEWAY_TRACES_HEADERS_FILE') && !isSet('GATEWAY_TRACES')) {
      const message = 'is set without GATEWAY_TRACES; set both, or GATEWAY_TRACES alone, or neither';
      faults.push({ setting: 'GATEWAY_TRACES_HEADERS_FILE', message });
    }
    return undefined;
  }
  const { config, faults: found } = readTraces({ env, readFile, serviceName: 'svc-gateway', headersText });
  for (const { variable, message } of found) {
    faults.push({ setting: variable ?? 'GATEWAY_TRACES_HEADERS_FILE', message });
  }
  return config;
}
