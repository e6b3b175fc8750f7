import { describe, expect, it } from 'vitest';
import { createKeyPair } from '@svc/testkit';
import { keyRecord } from '../core/principal.testing.ts';
import { loadConfig, type LoadedConfig } from './load.ts';
import type { Environment } from './read-settings.ts';

const PUBLIC_KEY = Buffer.alloc(32, 9).toString('base64url');
const HASH = `$2b$10$${'.'.repeat(53)}`;
const REQUIRED = {
  GATEWAY_AGENT_PUBLIC_KEY: PUBLIC_KEY,
  GATEWAY_API_KEYS_JSON: JSON.stringify([{ name: 'reporting', key_hash: HASH, capabilities: ['find_book'] }]),
};
const noFiles = (path: string): string => {
  throw Object.assign(new Error(`no file ${path}`), { code: 'ENOENT' });
};

function load(env: Environment, readFile: (path: string) => string = noFiles): LoadedConfig {
  return loadConfig({ ...REQUIRED, ...env }, readFile);
}

function configOf(env: Environment) {
  const loaded = load(env);
  if ('faults' in loaded) throw new Error(`unexpected faults: ${JSON.stringify(loaded.faults)}`);
  return loaded;
}

function faultsOf(env: Environment, readFile?: (path: string) => string): readonly string[] {
  const loaded = load(env, readFile);
  if ('config' in loaded) throw new Error('expected faults');
  return loaded.faults.map((fault) => `${fault.setting} ${fault.message}`);
}

describe('loadConfig', () => {
  it(
    'needs two settings and has a default for every other',
    { tags: ['setting:GATEWAY_BODY_READ_TIMEOUT'] },
    () => {
      const { config } = configOf({});
      expect(config).toEqual({
        listen: { host: undefined, port: 8080 },
        services: [
          {
            id: 'default',
            agentPublicKeys: [new Uint8Array(32).fill(9)],
            keys: [keyRecord('reporting', { keyHash: HASH, capabilities: new Set(['find_book']) })],
            tokens: undefined,
          },
        ],
        hasServicesFile: false,
        reloadedFiles: [],
        publicUrl: undefined,
        agentUrls: undefined,
        replicas: 1,
        linksPerReplica: undefined,
        maxAgentLinks: undefined,
        corsOrigins: [],
        ipAllowList: undefined,
        trustedProxies: [],
        rateLimit: undefined,
        principalRateLimit: undefined,
        principalMaxConcurrentCalls: undefined,
        valkey: undefined,
        emitOpenapiSnapshot: false,
        maxRequestBodyBytes: 1_048_576,
        bodyReadTimeoutMs: 10_000,
        keepAliveMs: 67_000,
        shutdownDelayMs: 0,
        readyAfterMs: 0,
        agentWaitMs: 0,
        console: undefined,
        consolePublic: false,
        compress: undefined,
        mcpOutputSchema: true,
        mcpSessions: true,
        mcpRevisions: ['2026-07-28', '2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05'],
        tls: undefined,
        metricsListen: undefined,
        workers: 1,
        logLevel: 'info',
        logProbes: true,
        proxyVariables: {},
      });
    },
  );

  it('reads every setting', () => {
    const { config, warnings } = configOf({
      GATEWAY_AGENT_PUBLIC_KEY: `${PUBLIC_KEY}, ${Buffer.alloc(32, 10).toString('base64url')}`,
      GATEWAY_ADDR: '[::1]:0',
      GATEWAY_PUBLIC_URL: 'https://Gateway.example.com:443/base/',
      GATEWAY_AGENT_URLS: 'wss://GATEWAY.internal:443/ws/agent/,ws://10.0.0.1:8080/ws/agent',
      GATEWAY_CORS_ALLOWED_ORIGINS: 'https://app.example.com, http://localhost:3000',
      GATEWAY_IP_ALLOW_LIST: '10.0.0.0/8, 2001:db8::/32,192.0.2.1',
      GATEWAY_TRUSTED_PROXY_CIDRS: '127.0.0.1',
      GATEWAY_RATE_LIMIT_REQUESTS_PER_SECOND: '2.5',
      GATEWAY_RATE_LIMIT_BURST: '20',
      GATEWAY_PRINCIPAL_RATE_LIMIT_REQUESTS_PER_SECOND: '7',
      GATEWAY_PRINCIPAL_MAX_CONCURRENT_CALLS: '12',
      GATEWAY_EMIT_OPENAPI_SNAPSHOT: '1',
      GATEWAY_MAX_REQUEST_BODY_BYTES: '2048',
      GATEWAY_BODY_READ_TIMEOUT: '1m30s',
      GATEWAY_KEEP_ALIVE_TIMEOUT: '30s',
      GATEWAY_SHUTDOWN_DELAY: '10s',
      GATEWAY_READY_AFTER: '15s',
      GATEWAY_READY_DATABASES: 'all',
      GATEWAY_AGENT_WAIT: '1s',
      GATEWAY_COMPRESS: 'gzip',
      GATEWAY_MCP_OUTPUT_SCHEMA: 'false',
      GATEWAY_MCP_REVISIONS: '2025-03-26, 2025-11-25',
      GATEWAY_MCP_SESSIONS: 'false',
      GATEWAY_METRICS_ADDR: 'localhost:9090',
      GATEWAY_LOG_LEVEL: 'warn',
      GATEWAY_LOG_PROBES: 'false',
    });
    expect(warnings).toEqual([]);
    expect(config).toMatchObject({
      services: [{ agentPublicKeys: [new Uint8Array(32).fill(9), new Uint8Array(32).fill(10)] }],
      listen: { host: '::1', port: 0 },
      publicUrl: 'https://gateway.example.com/base',
      agentUrls: ['wss://gateway.internal/ws/agent', 'ws://10.0.0.1:8080/ws/agent'],
      corsOrigins: ['https://app.example.com', 'http://localhost:3000'],
      ipAllowList: [
        { family: 4, base: 0x0a00_0000n, prefix: 8 },
        { family: 6, base: 0x2001_0db8n << 96n, prefix: 32 },
        { family: 4, base: 0xc000_0201n, prefix: 32 },
      ],
      trustedProxies: [{ family: 4, base: 0x7f00_0001n, prefix: 32 }],
      rateLimit: { requestsPerSecond: 2.5, burst: 20 },
      principalRateLimit: { requestsPerSecond: 7, burst: 7 },
      principalMaxConcurrentCalls: 12,
      emitOpenapiSnapshot: true,
      maxRequestBodyBytes: 2048,
      bodyReadTimeoutMs: 90_000,
      keepAliveMs: 30_000,
      shutdownDelayMs: 10_000,
      readyAfterMs: 15_000,
      readyDatabases: 'all',
      agentWaitMs: 1000,
      compress: 'gzip',
      mcpOutputSchema: false,
      mcpRevisions: ['2025-11-25', '2025-03-26'],
      mcpSessions: false,
      metricsListen: { host: 'localhost', port: 9090 },
      logLevel: 'warn',
      logProbes: false,
    });
  });

  it.each([
    ['https://gateway.example.com', 'wss://gateway.example.com/ws/agent'],
    ['http://localhost:8080/', 'ws://localhost:8080/ws/agent'],
    ['https://example.com/api', 'wss://example.com/api/ws/agent'],
  ])('derives the agent URL of %s', (publicUrl, agentUrl) => {
    expect(configOf({ GATEWAY_PUBLIC_URL: publicUrl }).config.agentUrls).toEqual([agentUrl]);
  });

  it.each([
    ['50', 50],
    ['0.5', 1],
    ['2.1', 3],
  ])('with a rate of %s the burst is %i', (rate, burst) => {
    const { config } = configOf({ GATEWAY_RATE_LIMIT_REQUESTS_PER_SECOND: rate });
    expect(config.rateLimit).toEqual({ requestsPerSecond: Number(rate), burst });
  });

  it('takes an empty value for an absent one', () => {
    const { config } = configOf({
      GATEWAY_ADDR: '',
      GATEWAY_CORS_ALLOWED_ORIGINS: ' ',
      GATEWAY_IP_ALLOW_LIST: '',
      GATEWAY_RATE_LIMIT_BURST: '',
    });
    expect(config).toMatchObject({ listen: { port: 8080 }, corsOrigins: [], ipAllowList: undefined });
  });

  it('allows every origin by a star alone', () => {
    expect(configOf({ GATEWAY_CORS_ALLOWED_ORIGINS: '*' }).config.corsOrigins).toBe('*');
  });

  it.each([
    ['500ms', 500],
    ['30s', 30_000],
    ['2m', 120_000],
    ['1h', 3_600_000],
    ['1m30s', 90_000],
  ])('reads the duration %s', (text, ms) => {
    expect(configOf({ GATEWAY_BODY_READ_TIMEOUT: text }).config.bodyReadTimeoutMs).toBe(ms);
  });

  it.each([
    ['GATEWAY_AGENT_PUBLIC_KEY', 'c2hvcnQ'],
    ['GATEWAY_AGENT_PUBLIC_KEY', `${PUBLIC_KEY},not+base64/url`],
    ['GATEWAY_AGENT_PUBLIC_KEY', ','],
    ['GATEWAY_AGENT_PUBLIC_KEY', 'A'.repeat(43)],
    ['GATEWAY_API_KEYS_JSON', '{}'],
    ['GATEWAY_ADDR', '8080'],
    ['GATEWAY_ADDR', ':65536'],
    ['GATEWAY_ADDR', '::1:80'],
    ['GATEWAY_ADDR', '[1.2.3.4]:80'],
    ['GATEWAY_PUBLIC_URL', 'gateway.example.com'],
    ['GATEWAY_PUBLIC_URL', 'ftp://gateway.example.com'],
    ['GATEWAY_PUBLIC_URL', 'https://gateway.example.com/?a=1'],
    ['GATEWAY_AGENT_URLS', 'https://gateway.example.com/ws/agent'],
    ['GATEWAY_AGENT_URLS', ','],
    ['GATEWAY_CORS_ALLOWED_ORIGINS', 'https://app.example.com/'],
    ['GATEWAY_CORS_ALLOWED_ORIGINS', '*,https://app.example.com'],
    ['GATEWAY_CORS_ALLOWED_ORIGINS', 'app.example.com'],
    ['GATEWAY_CORS_ALLOWED_ORIGINS', 'null'],
    ['GATEWAY_IP_ALLOW_LIST', '10.0.0.1/8'],
    ['GATEWAY_IP_ALLOW_LIST', ','],
    ['GATEWAY_TRUSTED_PROXY_CIDRS', '10.0.0.0/33'],
    ['GATEWAY_RATE_LIMIT_REQUESTS_PER_SECOND', '0'],
    ['GATEWAY_RATE_LIMIT_REQUESTS_PER_SECOND', '-1'],
    ['GATEWAY_RATE_LIMIT_REQUESTS_PER_SECOND', '1e3'],
    ['GATEWAY_RATE_LIMIT_BURST', '5'],
    ['GATEWAY_PRINCIPAL_RATE_LIMIT_REQUESTS_PER_SECOND', '0'],
    ['GATEWAY_PRINCIPAL_RATE_LIMIT_BURST', '5'],
    ['GATEWAY_PRINCIPAL_MAX_CONCURRENT_CALLS', '0'],
    ['GATEWAY_TOKEN_CLOCK_SKEW', '5m1s'],
    ['GATEWAY_JWKS_REFRESH', '9s'],
    ['GATEWAY_JWKS_MAX_STALE', '5m'],
    ['GATEWAY_JWKS_MAX_STALE', '721h'],
    ['GATEWAY_ISSUERS_JSON', '{}'],
    ['GATEWAY_EMIT_OPENAPI_SNAPSHOT', 'yes'],
    ['GATEWAY_MAX_REQUEST_BODY_BYTES', '0'],
    ['GATEWAY_MAX_REQUEST_BODY_BYTES', '1MB'],
    ['GATEWAY_BODY_READ_TIMEOUT', '0s'],
    ['GATEWAY_BODY_READ_TIMEOUT', '10'],
    ['GATEWAY_BODY_READ_TIMEOUT', '2h'],
    ['GATEWAY_KEEP_ALIVE_TIMEOUT', '0s'],
    ['GATEWAY_KEEP_ALIVE_TIMEOUT', '67'],
    ['GATEWAY_KEEP_ALIVE_TIMEOUT', '2h'],
    ['GATEWAY_SHUTDOWN_DELAY', '10'],
    ['GATEWAY_SHUTDOWN_DELAY', '11m'],
    ['GATEWAY_READY_AFTER', '-1s'],
    ['GATEWAY_READY_DATABASES', 'true'],
    ['GATEWAY_AGENT_WAIT', '61s'],
    ['GATEWAY_COMPRESS', 'br'],
    ['GATEWAY_MCP_OUTPUT_SCHEMA', 'no'],
    ['GATEWAY_MCP_REVISIONS', ','],
    ['GATEWAY_MCP_REVISIONS', '2025-06-19'],
    ['GATEWAY_MCP_SESSIONS', 'no'],
    ['GATEWAY_LOG_PROBES', 'no'],
    ['GATEWAY_METRICS_ADDR', ':8080'],
    ['GATEWAY_LOG_LEVEL', 'verbose'],
  ])('refuses %s=%s, naming only that setting', (setting, value) => {
    const faults = faultsOf({ [setting]: value });
    expect(faults).toEqual([expect.stringMatching(new RegExp(`^${setting} `))]);
  });

  it('asks for a whole burst', () => {
    const env = { GATEWAY_RATE_LIMIT_REQUESTS_PER_SECOND: '5', GATEWAY_RATE_LIMIT_BURST: '2.5' };
    expect(faultsOf(env)).toEqual([expect.stringContaining('whole number')]);
  });

  it('says how to get the settings that are missing', () => {
    const faults = faultsOf({ GATEWAY_AGENT_PUBLIC_KEY: undefined, GATEWAY_API_KEYS_JSON: ' ' });
    expect(faults).toEqual([
      expect.stringMatching(/^GATEWAY_AGENT_PUBLIC_KEY is not set.*create-agent-secret/),
      expect.stringMatching(/^GATEWAY_API_KEYS_JSON is not set.*create-key/),
    ]);
  });

  it('reports every fault at once', () => {
    const faults = faultsOf({
      GATEWAY_ADDR: 'nowhere',
      GATEWAY_IP_ALLOW_LIST: '10.0.0.1/8,10.0.0.0/8,bogus',
      GATEWAY_LOG_LEVEL: 'loud',
    });
    expect(faults.map((fault) => fault.split(' ', 1).join('')).toSorted()).toEqual([
      'GATEWAY_ADDR',
      'GATEWAY_IP_ALLOW_LIST',
      'GATEWAY_IP_ALLOW_LIST',
      'GATEWAY_LOG_LEVEL',
    ]);
    expect(faults.join('\n')).toContain('entry 1: "10.0.0.1/8"');
    expect(faults.join('\n')).toContain('entry 3: "bogus"');
  });

  it('shows no secret, wherever one was put', () => {
    const canary = 'CanarySecretValue';
    const faults = faultsOf(
      {
        GATEWAY_AGENT_PUBLIC_KEY: canary,
        GATEWAY_API_KEYS_JSON: `[{"name":"a","key_hash":"${canary}","key_id":"${canary}!"}]`,
        GATEWAY_PUBLIC_URL: `ftp://user:${canary}@host`,
        GATEWAY_AGENT_URLS: `wss://user:${canary}@host/ws/agent`,
        GATEWAY_CORS_ALLOWED_ORIGINS: `https://user:${canary}@host`,
        GATEWAY_TLS_CERT_FILE: 'cert.pem',
        GATEWAY_TLS_KEY_FILE: 'key.pem',
      },
      () => canary,
    );
    expect(faults.length).toBeGreaterThanOrEqual(7);
    expect(faults.join('\n')).not.toContain(canary);
  });

  it('warns of settings that nobody reads, with the nearest known name', () => {
    const { warnings } = configOf({
      GATEWAY_PUBLIC_URL: 'https://gateway.example.com',
      GATEWAY_ADR: ':80',
      GATEWAY_CORS_ORIGINS: '*',
      OTHER: 'x',
    });
    expect(warnings).toEqual([
      expect.stringMatching(/^GATEWAY_ADR .*GATEWAY_ADDR\?$/),
      expect.stringMatching(/^GATEWAY_CORS_ORIGINS .*GATEWAY_CORS_ALLOWED_ORIGINS\?$/),
    ]);
  });

  it('warns when agents may dial any URL, and when nobody may call', () => {
    const { warnings } = configOf({ GATEWAY_API_KEYS_JSON: '[]' });
    expect(warnings).toEqual([
      expect.stringContaining('GATEWAY_AGENT_URLS'),
      expect.stringContaining('GATEWAY_API_KEYS_JSON'),
    ]);
  });

  it('warns of what many records without key_id cost', { tags: ['key:many-foreign'] }, () => {
    const records = Array.from({ length: 12 }, (_, count) => ({
      name: `key ${count}`,
      key_hash: HASH,
      capabilities: [],
    }));
    const warningsOf = (keys: readonly unknown[]): readonly string[] =>
      configOf({ GATEWAY_AGENT_URLS: 'wss://g/ws/agent', GATEWAY_API_KEYS_JSON: JSON.stringify(keys) })
        .warnings;
    const created = records.map((record, count) => ({ ...record, key_id: `id${count}` }));
    expect(warningsOf(created)).toEqual([]);
    expect(warningsOf([...records.slice(0, 10), ...created.slice(10)])).toEqual([]);
    expect(warningsOf([...records.slice(0, 11), ...created.slice(11)])).toEqual([
      expect.stringMatching(/\b11 records without key_id.*\b11 bcrypt comparisons.*create-key/),
    ]);
  });
});

/** A self-signed certificate of nobody and its key, made for this test. */
const CERTIFICATE = `-----BEGIN CERTIFICATE-----
MIIBPjCB8aADAgECAhRdl8EvbbuMDtp5xwjtYC6vRaNJ4DAFBgMrZXAwFDESMBAG
A1UEAwwJbG9jYWxob3N0MCAXDTI2MTEyMTAzNTg1NFoYDzIxMjYxMDI4MDM1ODU0
WjAUMRIwEAYDVQQDDAlsb2NhbGhvc3QwKjAFBgMrZXADIQAIulXhYhT3cq1nZfn1
6tT3O+mWlU3o6PSPndIfQZDWL6NTMFEwHQYDVR0OBBYEFI/YYv3eiU7S1ogRzDEj
kvQX6F5kMB8GA1UdIwQYMBaAFI/YYv3eiU7S1ogRzDEjkvQX6F5kMA8GA1UdEwEB
/wQFMAMBAf8wBQYDK2VwA0EAS78ecCsTxiRC7/KeyNVsOlrG9C1PqCfxz29N6ySJ
FspSY8HfRVnzpBXzxHLPPPp+/xG0neFHhTYMLrPoYiK2Dg==
-----END CERTIFICATE-----
`;
const CERTIFICATE_KEY = `-----BEGIN PRIVATE KEY-----
MC4CAQAwBQYDK2VwBCIEIIaruEy9cQPMunyn+l9vsIqF9wlyIW0xmo+kzsqw3reu
-----END PRIVATE KEY-----
`;

describe('TLS files', () => {
  const files = { GATEWAY_TLS_CERT_FILE: 'cert.pem', GATEWAY_TLS_KEY_FILE: 'key.pem' };
  const { privateKey } = createKeyPair();
  const keyPem = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();

  it('needs both files', () => {
    expect(faultsOf({ GATEWAY_TLS_KEY_FILE: 'key.pem' }, () => keyPem)).toEqual([
      expect.stringMatching(/^GATEWAY_TLS_CERT_FILE is missing/),
    ]);
  });

  it('says which file cannot be read, and why', () => {
    expect(faultsOf(files)).toEqual([
      expect.stringMatching(/^GATEWAY_TLS_CERT_FILE .*there is no such file/),
      expect.stringMatching(/^GATEWAY_TLS_KEY_FILE .*there is no such file/),
    ]);
  });

  it('says which file holds something else', () => {
    expect(faultsOf(files, () => keyPem)).toEqual([
      expect.stringMatching(/^GATEWAY_TLS_CERT_FILE .*no certificate/),
    ]);
  });

  it('refuses a key of another certificate and accepts its own', () => {
    const read = (key: string) => (path: string) => (path === 'cert.pem' ? CERTIFICATE : key);
    expect(faultsOf(files, read(keyPem))).toEqual([
      expect.stringMatching(/^GATEWAY_TLS_KEY_FILE does not belong/),
    ]);
    expect(load(files, read(CERTIFICATE_KEY))).toMatchObject({
      config: { tls: { cert: CERTIFICATE, key: CERTIFICATE_KEY } },
    });
  });
});

describe('issuers', () => {
  const record = {
    name: 'idp',
    issuer: 'https://idp.example',
    grants: [{ capabilities: ['find_book'], scope: 'library.read' }],
  };
  const issuers = JSON.stringify([record]);
  const PUBLIC = { GATEWAY_PUBLIC_URL: 'https://gateway.example/base/' };

  it('are checked with defaults, for the public URL with /mcp behind it', () => {
    const { config, warnings } = configOf({
      ...PUBLIC,
      GATEWAY_ISSUERS_JSON: issuers,
      GATEWAY_API_KEYS_JSON: '[]',
    });
    // That there is no key needs no warning: tokens are taken.
    expect(warnings).toEqual([]);
    expect(config.services[0]?.tokens).toMatchObject({
      publicUrl: 'https://gateway.example/base',
      issuers: [{ name: 'idp', audiences: expect.arrayContaining(['https://gateway.example/base/mcp']) }],
      clockSkewMs: 30_000,
      refreshMs: 600_000,
      maxStaleMs: 86_400_000,
    });
  });

  it('without grants are warned of, since their tokens may call nothing', () => {
    const { warnings } = configOf({
      ...PUBLIC,
      GATEWAY_ISSUERS_JSON: JSON.stringify([{ ...record, grants: [] }]),
    });
    expect(warnings).toEqual([
      'GATEWAY_ISSUERS_JSON: the issuer idp has no grants, so its tokens may call nothing; add some',
    ]);
  });

  it('have settings of their own', () => {
    const { config } = configOf({
      ...PUBLIC,
      GATEWAY_ISSUERS_JSON: issuers,
      GATEWAY_TOKEN_CLOCK_SKEW: '0s',
      GATEWAY_JWKS_REFRESH: '1m',
      GATEWAY_JWKS_MAX_STALE: '48h',
    });
    expect(config.services[0]?.tokens).toMatchObject({
      clockSkewMs: 0,
      refreshMs: 60_000,
      maxStaleMs: 172_800_000,
    });
  });

  it('may be none, which is as if the setting were absent', () => {
    expect(configOf({ GATEWAY_ISSUERS_JSON: '[]' }).config.services[0]?.tokens).toBeUndefined();
    expect(configOf({ GATEWAY_ISSUERS_JSON: '[]', GATEWAY_API_KEYS_JSON: '[]' }).warnings).toContainEqual(
      expect.stringContaining('every call is refused'),
    );
  });

  it.each([
    [undefined, /^GATEWAY_PUBLIC_URL is not set beside GATEWAY_ISSUERS_JSON/],
    ['http://gateway.example', /^GATEWAY_PUBLIC_URL is not https.*accepted/],
  ])('need a public URL of https, not %s', (url, fault) => {
    expect(faultsOf({ GATEWAY_PUBLIC_URL: url, GATEWAY_ISSUERS_JSON: issuers })).toEqual([
      expect.stringMatching(fault),
    ]);
  });

  it.each(['http://localhost:8080', 'http://127.0.0.1', 'http://[::1]:1'])(
    'may be tried out under %s',
    (url) => {
      expect(
        configOf({ GATEWAY_PUBLIC_URL: url, GATEWAY_ISSUERS_JSON: issuers }).config.services[0]?.tokens,
      ).toBeDefined();
    },
  );

  it('are judged beside every other fault, by record and field', () => {
    const wrong = JSON.stringify([
      record,
      { ...record, name: 'second', issuer: 'https://b.example', grants: [{}] },
    ]);
    expect(faultsOf({ GATEWAY_ISSUERS_JSON: wrong, GATEWAY_LOG_LEVEL: 'x' })).toEqual([
      expect.stringMatching(/^GATEWAY_ISSUERS_JSON record 2 \("second"\): grants\[0\]/),
      expect.stringMatching(/^GATEWAY_ISSUERS_JSON record 2 \("second"\): grants\[0\]/),
      expect.stringMatching(/^GATEWAY_LOG_LEVEL /),
    ]);
    expect(faultsOf({ ...PUBLIC, GATEWAY_ISSUERS_JSON: '[{' })).toEqual([
      expect.stringMatching(/^GATEWAY_ISSUERS_JSON is not JSON .*GATEWAY_ISSUERS_JSON='/),
    ]);
  });
});
