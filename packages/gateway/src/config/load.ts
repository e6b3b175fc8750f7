import { nearest, proxyVariables, type ListenAddress } from '@svc/edge';
import { PARAMS_MAX_BYTES } from '@svc/protocol';
import { readConsole } from './console.ts';
import { parseCidr } from './parse/cidr.ts';
import type { Cidr } from '../network/cidr.ts';
import type { Fault } from './fault.ts';
import { MCP_REVISIONS, parseMcpRevisions } from './mcp-revisions.ts';
import type { GatewayConfig, ServiceConfig } from './model.ts';
import { parseDurationWithin } from './parse/durations.ts';
import { parseListenAddress } from './parse/listen-address.ts';
import { parseBoolean, parsePositiveInteger, parsePositiveNumber } from './parse/numbers.ts';
import { atLeastOne, bad, good, parseList, quoted, type Parsed } from './parse/parsed.ts';
import { createReadSettings, type Environment, type ReadSettings } from './read-settings.ts';
import { readServices } from './services/read-services.ts';
import { SETTINGS } from './settings.ts';
import { readTlsFiles, type ReadFile } from './tls-files.ts';
import { readTracesSettings } from './traces.ts';
import { readValkey } from './valkey.ts';
import { parseReplicas } from './parse/replicas.ts';
import { parseWorkers } from './parse/workers.ts';
import { agentUrlOf, parseAgentUrl, parseCorsOrigins, parsePublicUrl } from './parse/urls.ts';

export type { Environment } from './read-settings.ts';

export type LoadedConfig =
  | { readonly config: GatewayConfig; readonly warnings: readonly string[] }
  /** A setting may be missing because its name is misspelt, so the warnings about names belong to the faults. */
  | { readonly faults: readonly Fault[]; readonly warnings: readonly string[] };

export type LoadedServices =
  | { readonly services: readonly ServiceConfig[]; readonly warnings: readonly string[] }
  | { readonly faults: readonly Fault[] };

const LOG_LEVELS = ['debug', 'info', 'warn', 'error'] as const;
const MAX_BODY_READ_MS = 3_600_000;
const MAX_KEEP_ALIVE_MS = 3_600_000;
/** Callers are told of 65 s, which is more than what most proxies keep an idle connection. */
const DEFAULT_KEEP_ALIVE_MS = 67_000;
const MAX_REPLICA_TIME_MS = 600_000;
const MAX_AGENT_WAIT_MS = 60_000;
const MAX_RATE = 1_000_000;
const RELOADED = ['GATEWAY_API_KEYS_FILE', 'GATEWAY_SERVICES_FILE'] as const;

/**
 * Turns the environment into the gateway's configuration, or into everything that is wrong with it at once
 * (docs/reference/settings.md; defaults applied here). An empty value counts as absent. `readFile` gives the text
 * of a file or throws.
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
  const tls = readTlsFiles(
    read('GATEWAY_TLS_CERT_FILE', good),
    read('GATEWAY_TLS_KEY_FILE', good),
    readFile,
    faults,
  );
  const operatorConsole = readConsole(settings, tls !== undefined);
  for (const [setting, other] of [
    ['GATEWAY_ADDR', address],
    ['GATEWAY_METRICS_ADDR', metricsListen],
  ] as const) {
    if (!isSameAddress(operatorConsole?.listen, other)) continue;
    const message = `is the same as ${setting}; choose another port`;
    faults.push({ setting: 'GATEWAY_CONSOLE_ADDR', message });
  }

  const config: GatewayConfig = {
    listen: address,
    services,
    hasServicesFile: isSet('GATEWAY_SERVICES_FILE'),
    reloadedFiles: RELOADED.flatMap((setting) => read(setting, (path) => good([path])) ?? []),
    publicUrl,
    agentUrls: agentUrls ?? (publicUrl === undefined ? undefined : [agentUrlOf(publicUrl)]),
    replicas: read('GATEWAY_REPLICAS', parseReplicas) ?? 1,
    linksPerReplica: read('GATEWAY_LINKS_PER_REPLICA', (text) => parsePositiveInteger(text, 16)),
    maxAgentLinks: read('GATEWAY_MAX_AGENT_LINKS', (text) => parsePositiveInteger(text, 1_000_000)),
    corsOrigins: read('GATEWAY_CORS_ALLOWED_ORIGINS', parseCorsOrigins) ?? [],
    ipAllowList: read('GATEWAY_IP_ALLOW_LIST', (text) =>
      atLeastOne(networks(text), 'networks, separated by commas'),
    ),
    trustedProxies: read('GATEWAY_TRUSTED_PROXY_CIDRS', networks) ?? [],
    rateLimit,
    principalRateLimit,
    principalMaxConcurrentCalls: read('GATEWAY_PRINCIPAL_MAX_CONCURRENT_CALLS', (text) =>
      parsePositiveInteger(text, MAX_RATE),
    ),
    valkey,
    emitOpenapiSnapshot: read('GATEWAY_EMIT_OPENAPI_SNAPSHOT', parseBoolean) ?? false,
    maxRequestBodyBytes:
      read('GATEWAY_MAX_REQUEST_BODY_BYTES', (text) => parsePositiveInteger(text, PARAMS_MAX_BYTES)) ??
      1_048_576,
    bodyReadTimeoutMs: read('GATEWAY_BODY_READ_TIMEOUT', parseBodyReadTimeout) ?? 10_000,
    keepAliveMs: read('GATEWAY_KEEP_ALIVE_TIMEOUT', parseKeepAlive) ?? DEFAULT_KEEP_ALIVE_MS,
    shutdownDelayMs: read('GATEWAY_SHUTDOWN_DELAY', parseReplicaTime) ?? 0,
    readyAfterMs: read('GATEWAY_READY_AFTER', parseReplicaTime) ?? 0,
    readyDatabases: read('GATEWAY_READY_DATABASES', parseReadyDatabases),
    agentWaitMs: read('GATEWAY_AGENT_WAIT', parseAgentWait) ?? 0,
    tls,
    compress: read('GATEWAY_COMPRESS', parseCompress),
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
    logLevel: read('GATEWAY_LOG_LEVEL', parseLogLevel) ?? 'info',
  };
  const unknown = unknownSettings(env);
  return faults.length > 0
    ? { faults, warnings: unknown }
    : {
        config,
        warnings: [...unknown, ...issuerWarnings, ...valkeyWarnings, ...warningsFor(config), ...keyWarnings],
      };
}

/**
 * The services alone, from what the files hold now; `readFile` may give what was read before. Warnings are those of the
 * services.
 */
export function loadServices(env: Environment, readFile: ReadFile): LoadedServices {
  const settings = createReadSettings(env);
  const { services, issuerWarnings, keyWarnings } = readServices(settings, readFile);
  const { faults } = settings;
  return faults.length > 0 ? { faults } : { services, warnings: [...issuerWarnings, ...keyWarnings] };
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

function warningsFor(config: GatewayConfig): readonly string[] {
  const warnings: string[] = [];
  if (config.agentUrls === undefined) {
    warnings.push(
      'an agent is accepted whatever URL it dialled, so its signature could be relayed from another server; ' +
        'set GATEWAY_PUBLIC_URL or GATEWAY_AGENT_URLS',
    );
  }
  return warnings;
}

function networks(text: string): Parsed<readonly Cidr[]> {
  return parseList(text, parseCidr);
}

function parseLogLevel(text: string): Parsed<GatewayConfig['logLevel']> {
  const level = LOG_LEVELS.find((candidate) => candidate === text);
  return level === undefined
    ? bad(`${quoted(text)} is not accepted; accepted: ${LOG_LEVELS.join(', ')}`)
    : good(level);
}

function parseReadyDatabases(text: string): Parsed<GatewayConfig['readyDatabases']> {
  switch (text) {
    case 'any':
    case 'all':
      return good(text);
    case 'none':
      return good(undefined);
    default:
      return bad(`${quoted(text)} is not accepted; accepted: any, all, none`);
  }
}

function parseCompress(text: string): Parsed<'gzip'> {
  return text === 'gzip' ? good(text) : bad(`${quoted(text)} is not accepted; accepted: gzip`);
}

/** The two settings of a rate limit whose names begin so. */
function readRate(
  { faults, isSet, read }: ReadSettings,
  prefix: 'GATEWAY_RATE_LIMIT' | 'GATEWAY_PRINCIPAL_RATE_LIMIT',
): GatewayConfig['rateLimit'] {
  const rate = `${prefix}_REQUESTS_PER_SECOND` as const;
  const requestsPerSecond = read(rate, (text) => parsePositiveNumber(text, MAX_RATE));
  const burst = read(`${prefix}_BURST`, (text) => parsePositiveInteger(text, MAX_RATE));
  if (burst !== undefined && !isSet(rate)) {
    const message = `is set without ${rate}; set both, or the rate alone, or neither`;
    faults.push({ setting: `${prefix}_BURST`, message });
  }
  if (requestsPerSecond === undefined) return undefined;
  return { requestsPerSecond, burst: burst ?? Math.ceil(requestsPerSecond) };
}

function parseBodyReadTimeout(text: string): Parsed<number> {
  const range = `from 1ms to ${MAX_BODY_READ_MS / 1000}s`;
  return parseDurationWithin(text, { leastMs: 1, mostMs: MAX_BODY_READ_MS, range });
}

function parseKeepAlive(text: string): Parsed<number> {
  const range = `from 1s to ${MAX_KEEP_ALIVE_MS / 1000}s`;
  return parseDurationWithin(text, { leastMs: 1000, mostMs: MAX_KEEP_ALIVE_MS, range });
}

/** How long a replica takes its time at its start or end. */
function parseReplicaTime(text: string): Parsed<number> {
  return parseDurationWithin(text, { leastMs: 0, mostMs: MAX_REPLICA_TIME_MS, range: 'from 0s to 10m' });
}

function parseAgentWait(text: string): Parsed<number> {
  return parseDurationWithin(text, { leastMs: 0, mostMs: MAX_AGENT_WAIT_MS, range: 'from 0s to 1m' });
}
