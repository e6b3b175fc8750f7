import { nearest, parseDuration } from '@svc/edge';
import { PARAMS_MAX_BYTES } from '@svc/protocol';
import { parseAgentPublicKey } from './parse/agent-public-key.ts';
import { parseCidr } from './parse/cidr.ts';
import type { Cidr } from '../network/cidr.ts';
import type { Fault } from './fault.ts';
import type { GatewayConfig } from './model.ts';
import { parseKeyRecords } from './parse/key-records.ts';
import { parseListenAddress } from './parse/listen-address.ts';
import { parseBoolean, parsePositiveInteger, parsePositiveNumber } from './parse/numbers.ts';
import { bad, good, parseList, quoted, type Parsed } from './parse/parsed.ts';
import { SETTINGS, type Setting } from './settings.ts';
import { readTlsFiles, type ReadFile } from './tls-files.ts';
import { agentUrlOf, parseAgentUrl, parseCorsOrigins, parsePublicUrl } from './parse/urls.ts';

export type Environment = Readonly<Record<string, string | undefined>>;
export type LoadedConfig =
  | { readonly config: GatewayConfig; readonly warnings: readonly string[] }
  /** A setting may be missing because its name is misspelt, so the warnings about names belong to the faults. */
  | { readonly faults: readonly Fault[]; readonly warnings: readonly string[] };

const LOG_LEVELS = ['debug', 'info', 'warn', 'error'] as const;
const MAX_BODY_READ_MS = 3_600_000;
const MAX_RATE = 1_000_000;
/** Each unknown key is compared with every record without `key_id`. */
const MANY_WITHOUT_ID = 10;

/**
 * Turns the environment into the gateway's configuration, or into everything that is wrong with it at once
 * (docs/reference/settings.md; defaults applied here). An empty value counts as absent. `readFile` gives the text
 * of a file or throws.
 */
export function loadConfig(env: Environment, readFile: ReadFile): LoadedConfig {
  const faults: Fault[] = [];

  function read<T>(setting: Setting, parse: (text: string) => Parsed<T>): T | undefined {
    const text = env[setting]?.trim() ?? '';
    if (text === '') return undefined;
    const parsed = parse(text);
    if (parsed.ok) return parsed.value;
    faults.push(...parsed.problems.map((message) => ({ setting, message })));
    return undefined;
  }
  function required<T>(setting: Setting, remedy: string, parse: (text: string) => Parsed<T>): T | undefined {
    if ((env[setting]?.trim() ?? '') === '') faults.push({ setting, message: `is not set; ${remedy}` });
    return read(setting, parse);
  }

  const agentPublicKeys = required(
    'GATEWAY_AGENT_PUBLIC_KEY',
    'make a key pair with: svc-gateway create-agent-secret',
    (text) => atLeastOne(parseList(text, parseAgentPublicKey), 'a base64url public key'),
  );
  const keys = required(
    'GATEWAY_API_KEYS_JSON',
    'make a record with: svc-gateway create-key --name <name> --capabilities <names>',
    parseKeyRecords,
  );
  const publicUrl = read('GATEWAY_PUBLIC_URL', parsePublicUrl);
  const listen = read('GATEWAY_ADDR', parseListenAddress);
  const metricsListen = read('GATEWAY_METRICS_ADDR', parseListenAddress);
  const agentUrls = read('GATEWAY_AGENT_URLS', (text) =>
    atLeastOne(parseList(text, parseAgentUrl), 'WebSocket URLs, separated by commas'),
  );
  const requestsPerSecond = read('GATEWAY_RATE_LIMIT_REQUESTS_PER_SECOND', (text) =>
    parsePositiveNumber(text, MAX_RATE),
  );
  const burst = read('GATEWAY_RATE_LIMIT_BURST', (text) => parsePositiveInteger(text, MAX_RATE));
  if (burst !== undefined && !isSet(env, 'GATEWAY_RATE_LIMIT_REQUESTS_PER_SECOND')) {
    const message =
      'is set without GATEWAY_RATE_LIMIT_REQUESTS_PER_SECOND; set both, or the rate alone, or neither';
    faults.push({ setting: 'GATEWAY_RATE_LIMIT_BURST', message });
  }
  const address = listen ?? { host: undefined, port: 8080 };
  if (metricsListen?.port === address.port && metricsListen.host === address.host && address.port !== 0) {
    const message = 'is the same as the address of the gateway itself (GATEWAY_ADDR); choose another port';
    faults.push({ setting: 'GATEWAY_METRICS_ADDR', message });
  }

  const config: GatewayConfig = {
    listen: address,
    agentPublicKeys: agentPublicKeys ?? [],
    keys: keys ?? [],
    publicUrl,
    agentUrls: agentUrls ?? (publicUrl === undefined ? undefined : [agentUrlOf(publicUrl)]),
    corsOrigins: read('GATEWAY_CORS_ALLOWED_ORIGINS', parseCorsOrigins) ?? [],
    ipAllowList: read('GATEWAY_IP_ALLOW_LIST', (text) =>
      atLeastOne(networks(text), 'networks, separated by commas'),
    ),
    trustedProxies: read('GATEWAY_TRUSTED_PROXY_CIDRS', networks) ?? [],
    rateLimit:
      requestsPerSecond === undefined
        ? undefined
        : { requestsPerSecond, burst: burst ?? Math.ceil(requestsPerSecond) },
    emitOpenapiSnapshot: read('GATEWAY_EMIT_OPENAPI_SNAPSHOT', parseBoolean) ?? false,
    maxRequestBodyBytes:
      read('GATEWAY_MAX_REQUEST_BODY_BYTES', (text) => parsePositiveInteger(text, PARAMS_MAX_BYTES)) ??
      1_048_576,
    bodyReadTimeoutMs: read('GATEWAY_BODY_READ_TIMEOUT', parseBodyReadTimeout) ?? 10_000,
    tls: readTlsFiles(
      read('GATEWAY_TLS_CERT_FILE', good),
      read('GATEWAY_TLS_KEY_FILE', good),
      readFile,
      faults,
    ),
    metricsListen,
    logLevel: read('GATEWAY_LOG_LEVEL', parseLogLevel) ?? 'info',
  };
  const unknown = unknownSettings(env);
  return faults.length > 0
    ? { faults, warnings: unknown }
    : { config, warnings: [...unknown, ...warningsFor(config)] };
}

function unknownSettings(env: Environment): readonly string[] {
  return Object.keys(env)
    .filter((name) => name.startsWith('GATEWAY_') && !SETTINGS.some((setting) => setting === name))
    .toSorted()
    .map(
      (name) =>
        `${name} is not a setting of the gateway and is ignored; did you mean ${nearest(name, SETTINGS)}?`,
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
  if (config.keys.length === 0) {
    warnings.push(
      'GATEWAY_API_KEYS_JSON has no records, so every call is refused; add one with svc-gateway create-key',
    );
  }
  const withoutId = config.keys.filter(({ keyId }) => keyId === undefined).length;
  if (withoutId > MANY_WITHOUT_ID) {
    warnings.push(
      `GATEWAY_API_KEYS_JSON has ${withoutId} records without key_id, so each unknown key costs up to ${withoutId} ` +
        'bcrypt comparisons; replace them with keys from svc-gateway create-key, which cost one at most',
    );
  }
  return warnings;
}

function networks(text: string): Parsed<readonly Cidr[]> {
  return parseList(text, parseCidr);
}

/** A list of nothing but commas must not pass for "no restriction". */
function atLeastOne<T>(list: Parsed<readonly T[]>, accepted: string): Parsed<readonly T[]> {
  return list.ok && list.value.length === 0 ? bad(`is an empty list; accepted: ${accepted}`) : list;
}

function parseLogLevel(text: string): Parsed<GatewayConfig['logLevel']> {
  const level = LOG_LEVELS.find((candidate) => candidate === text);
  return level === undefined
    ? bad(`${quoted(text)} is not accepted; accepted: ${LOG_LEVELS.join(', ')}`)
    : good(level);
}

function isSet(env: Environment, setting: Setting): boolean {
  return (env[setting]?.trim() ?? '') !== '';
}

function parseBodyReadTimeout(text: string): Parsed<number> {
  const milliseconds = parseDuration(text);
  if (milliseconds >= 1 && milliseconds <= MAX_BODY_READ_MS) return good(milliseconds);
  const accepted = `accepted: a duration like 500ms, 30s or 1m30s, from 1ms to ${MAX_BODY_READ_MS / 1000}s`;
  return bad(`${quoted(text)} is not accepted; ${accepted}`);
}
