import type { Setting } from '../../packages/gateway/src/config/settings.ts';
import { code, table } from './markdown.ts';

interface SettingDoc {
  /** Text of a value that means the same as none; `required` when there must be one. */
  readonly standard: { readonly value: string } | { readonly text: string } | 'required';
  readonly accepted: string;
  /** All examples together are one sound environment; undefined for a setting that stands in place of another. */
  readonly example: string | undefined;
  readonly meaning: string;
  /** Values that are refused at start. */
  readonly refused: readonly string[];
}

export const SETTING_DOCS: Readonly<Record<Setting, SettingDoc>> = {
  GATEWAY_AGENT_PUBLIC_KEY: {
    standard: 'required',
    accepted: 'base64url of 32 bytes (43 characters); several separated by commas',
    example: 'JaBcK5sQsUjir6nZ2mfgyNJqqc3-9d2dyM0_JmKfRJ4',
    meaning:
      'The public keys of the agents that may connect. Several serve several agents, and [rotation](../guides/keys-and-rotation.md#rotate-the-agents-key).',
    refused: ['short', ','],
  },
  GATEWAY_API_KEYS_JSON: {
    standard: 'required',
    accepted: 'JSON array of at most 100 [records](#api-key-records)',
    example:
      '[{"name":"reports","key_id":"3cb8a443faa5","key_hash":"$2b$10$LCsAtkVUgcTm.KmpcIk1IeQ0jKfRj5YIXDUSqbVM9Gc1uUguQogwe","capabilities":["find_book"]}]',
    meaning:
      'Who may call, and what. GATEWAY_API_KEYS_FILE stands in its place. `[]` is accepted; without GATEWAY_ISSUERS_JSON it is a warning, since every call is refused then.',
    refused: ['{}', '[{}]', 'x'],
  },
  GATEWAY_API_KEYS_FILE: {
    standard: { text: 'GATEWAY_API_KEYS_JSON has the records' },
    accepted: 'path of a JSON file: the array of GATEWAY_API_KEYS_JSON; one of the two settings',
    example: undefined,
    meaning:
      'The API keys in a file that is [read again](#files-that-are-read-again) when it changes, without a restart.',
    refused: ['/nowhere'],
  },
  GATEWAY_SERVICES_FILE: {
    standard: { text: 'one service' },
    accepted: 'path of a JSON file of at most 100 [services](#the-services-file)',
    example: '/etc/svc/services.json',
    meaning:
      'Further [services](../guides/services.md) of this gateway, each with agents, keys and issuers of its own under `/s/<service>`. Read again when it changes. With `"id": "default"` in it, GATEWAY_AGENT_PUBLIC_KEY and the API keys may be absent.',
    refused: ['/nowhere'],
  },
  GATEWAY_ISSUERS_JSON: {
    standard: { text: 'none: API keys only' },
    accepted:
      'JSON array of at most 16 [records](#issuer-records); with one or more, GATEWAY_PUBLIC_URL is required',
    example:
      '[{"name":"idp","issuer":"https://idp.example.com","grants":[{"capabilities":["find_book"],"scope":"library.read"}]}]',
    meaning:
      'The identity providers whose access tokens are taken beside API keys, and what their bearers may call.',
    refused: ['{}', '[{}]', 'x'],
  },
  GATEWAY_TOKEN_CLOCK_SKEW: {
    standard: { value: '30s' },
    accepted: 'a duration from `0s` to `5m`',
    example: '30s',
    meaning: 'How far the clocks of issuers and gateway may differ when the times of a token are checked.',
    refused: ['30', '6m'],
  },
  GATEWAY_JWKS_REFRESH: {
    standard: { value: '10m' },
    accepted: 'a duration from `10s` to `24h`',
    example: '10m',
    meaning:
      'How often the keys of the issuers are fetched in the background. A token with a key that is not known yet has them fetched at once, every 30 s at most.',
    refused: ['1s', '25h'],
  },
  GATEWAY_JWKS_MAX_STALE: {
    standard: { value: '24h' },
    accepted: 'a duration from `1m` to `720h`, at least as long as GATEWAY_JWKS_REFRESH',
    example: '24h',
    meaning: 'How long the last keys of an issuer count while they cannot be fetched.',
    refused: ['10s', '721h', '5m'],
  },
  GATEWAY_ADDR: {
    standard: { value: ':8080' },
    accepted: '`:<port>`, `<host>:<port>`, `[<IPv6>]:<port>`',
    example: '127.0.0.1:8080',
    meaning:
      'Where to listen. Without a host: on every interface. Port 0 takes a free one, which the `listening` record names.',
    refused: ['8080', ':65536', 'http://x:1'],
  },
  GATEWAY_PUBLIC_URL: {
    standard: { text: 'none' },
    accepted: 'an `http://` or `https://` URL without credentials, query and fragment',
    example: 'https://gateway.example.com',
    meaning:
      'The base URL under which callers reach the gateway: `servers[0].url` in `/openapi.json` (`/` when absent), and the default of GATEWAY_AGENT_URLS. With a path, such as `https://example.com/data`, every route answers below it (`/data/mcp`, `/data/ws/agent`) and without it, so that a proxy may keep it or take it away. Access tokens have to be for this URL with `/mcp` behind it; so with GATEWAY_ISSUERS_JSON it is required, and is `https` but on loopback.',
    refused: ['gateway.example.com', 'https://user:pass@gateway.example.com', 'https://x.example/?a'],
  },
  GATEWAY_AGENT_URLS: {
    standard: { text: 'GATEWAY_PUBLIC_URL with `ws` for `http` and `/ws/agent` behind it' },
    accepted: '`ws://` or `wss://` URLs, separated by commas; `{replica}` once in the first label of a host',
    example: 'wss://gateway.example.com/ws/agent',
    meaning:
      'The URLs that agents may dial. An agent signs the URL it dialled, so a signature made for another gateway is refused (close code 4403). Loopback URLs are always accepted. With neither this nor GATEWAY_PUBLIC_URL any URL is accepted, with a warning. `{replica}` stands for the numbers 0 to 63, where each replica has a host of its own.',
    refused: ['wss://gw.{replica}.example.com/ws/agent', 'https://gateway.example.com/ws/agent', ','],
  },
  GATEWAY_REPLICAS: {
    standard: { value: '1' },
    accepted: 'a whole number from 1 to 16, or `dns:<name>`',
    example: '3',
    meaning:
      'How many replicas of the gateway there are. Agents hold links to all of them. The name is one that has an address for each replica, such as that of a headless Service; it is looked up every 5 s, and what cannot be looked up leaves the last count.',
    refused: ['0', '17', '1.5', 'dns:', 'dns:a b', 'gateway.svc'],
  },
  GATEWAY_LINKS_PER_REPLICA: {
    standard: { text: 'the number of workers, 4 at most' },
    accepted: 'a whole number from 1 to 16',
    example: '2',
    meaning:
      'How many links an agent holds to each replica, each to another worker; no more than there are workers.',
    refused: ['0', '17', 'auto'],
  },
  GATEWAY_MAX_AGENT_LINKS: {
    standard: { text: 'no limit' },
    accepted: 'a whole number from 1 to 1000000',
    example: '1000',
    meaning:
      'Links of agents that one worker takes. An agent that is one too many looks for another worker or replica (close code 4409); an older one is closed with 1001 and comes again.',
    refused: ['0', '1.5'],
  },
  GATEWAY_CORS_ALLOWED_ORIGINS: {
    standard: { text: 'none: CORS is off' },
    accepted: 'exact origins separated by commas, or `*` alone',
    example: 'https://app.example.com',
    meaning: 'Which web pages may call from a browser.',
    refused: ['https://app.example.com/', 'app.example.com', '*,https://app.example.com'],
  },
  GATEWAY_IP_ALLOW_LIST: {
    standard: { text: 'everybody may call' },
    accepted: 'addresses and networks, IPv4 and IPv6, separated by commas; no bits behind the prefix',
    example: '10.0.0.0/8,2001:db8::/32',
    meaning:
      'Which source addresses may call. Holds for every path: `/healthz` and `/ws/agent` too, so the agents must be in it.',
    refused: ['10.0.0.1/8', 'example.com', ','],
  },
  GATEWAY_TRUSTED_PROXY_CIDRS: {
    standard: { text: 'none' },
    accepted: 'as for GATEWAY_IP_ALLOW_LIST',
    example: '127.0.0.1/32,::1/128',
    meaning:
      'Whose `X-Forwarded-For` is believed. Read from the right; the first address that is no trusted proxy is the source. An entry may have a port: `192.0.2.1:4711`, `[2001:db8::1]:4711`.',
    refused: ['10.0.0.1/8', 'example.com'],
  },
  GATEWAY_RATE_LIMIT_REQUESTS_PER_SECOND: {
    standard: { text: 'no limit' },
    accepted: 'a number above 0 and up to 1000000, fractions allowed',
    example: '50',
    meaning:
      'Requests per second from one source: an IPv4 address or an IPv6 /64. Holds for every path, before authentication.',
    refused: ['0', '-1', '1e3', '1000001'],
  },
  GATEWAY_RATE_LIMIT_BURST: {
    standard: { text: 'the rate, rounded up' },
    accepted: 'a whole number from 1 to 1000000',
    example: '100',
    meaning: 'Requests that one source may send at once. Without the rate it is a fault.',
    refused: ['0', '1.5'],
  },
  GATEWAY_PRINCIPAL_RATE_LIMIT_REQUESTS_PER_SECOND: {
    standard: { text: 'no limit' },
    accepted: 'as for GATEWAY_RATE_LIMIT_REQUESTS_PER_SECOND',
    example: '20',
    meaning:
      'Requests per second of one principal, whatever its source: the keys of one `principal`, or one subject of an issuer. After authentication; each entry of an MCP batch counts.',
    refused: ['0', '-1', '1e3', '1000001'],
  },
  GATEWAY_PRINCIPAL_RATE_LIMIT_BURST: {
    standard: { text: 'the rate, rounded up' },
    accepted: 'a whole number from 1 to 1000000',
    example: '40',
    meaning: 'Requests that one principal may send at once. Without its rate it is a fault.',
    refused: ['0', '1.5'],
  },
  GATEWAY_PRINCIPAL_MAX_CONCURRENT_CALLS: {
    standard: { text: 'no limit' },
    accepted: 'a whole number from 1 to 1000000',
    example: '32',
    meaning: 'Calls of one principal that may be under way at once; a further one is 429.',
    refused: ['0', '1.5'],
  },
  GATEWAY_EMIT_OPENAPI_SNAPSHOT: {
    standard: { value: 'false' },
    accepted: '`true`, `false`, `1`, `0`',
    example: 'false',
    meaning:
      'Also write each new description to `openapi.json` in the working directory, in one step; that of a further service to `openapi.<service>.json`.',
    refused: ['yes'],
  },
  GATEWAY_MAX_REQUEST_BODY_BYTES: {
    standard: { value: '1048576' },
    accepted: 'a whole number from 1 to 67108864',
    example: '1048576',
    meaning: 'The largest request body.',
    refused: ['0', '1MB', '67108865'],
  },
  GATEWAY_BODY_READ_TIMEOUT: {
    standard: { value: '10s' },
    accepted: 'a duration from `1ms` to `1h`',
    example: '10s',
    meaning: 'How long a request body may take to arrive, however it trickles in.',
    refused: ['10', '0s', '2h'],
  },
  GATEWAY_KEEP_ALIVE_TIMEOUT: {
    standard: { value: '67s' },
    accepted: 'a duration from `1s` to `1h`',
    example: '67s',
    meaning:
      'How long a connection is kept on which nothing comes. `Keep-Alive: timeout=` tells callers two seconds less. A proxy before the gateway must close its idle connections earlier.',
    refused: ['67', '0s', '2h'],
  },
  GATEWAY_SHUTDOWN_DELAY: {
    standard: { value: '0s' },
    accepted: 'a duration from `0s` to `10m`',
    example: '10s',
    meaning:
      'How long a gateway that was asked to end serves everything as before while `/readyz` and `/healthz` say 503, so that a balancer leaves it first. Longer than its checks take to notice.',
    refused: ['10', '11m'],
  },
  GATEWAY_READY_AFTER: {
    standard: { value: '0s' },
    accepted: 'a duration from `0s` to `10m`',
    example: '15s',
    meaning:
      'The longest time from the start during which `/readyz` says 503 although an agent is there. It ends as soon as no agent of another service has come for 2 s.',
    refused: ['15', '11m'],
  },
  GATEWAY_READY_DATABASES: {
    standard: { value: 'none' },
    accepted: '`any`, `all` or `none`',
    example: 'any',
    meaning:
      'Which databases `/readyz` asks for beside a connected agent: with `any` an agent must have one ready, with `all` each database that a connected agent names must be ready at one of the agents. The databases of an older agent, which does not tell of them, count as ready.',
    refused: ['some', 'true'],
  },
  GATEWAY_AGENT_WAIT: {
    standard: { value: '0s' },
    accepted: 'a duration from `0s` to `1m`',
    example: '1s',
    meaning:
      'How long a call waits for an agent when the last one that has its capability was lost less than 2 s before, within the time of the call. At most 1,000 calls with 8 MiB of parameters wait.',
    refused: ['1', '2m'],
  },
  GATEWAY_TLS_CERT_FILE: {
    standard: { text: 'HTTP without TLS' },
    accepted: 'path of a PEM file: the certificate, then the chain',
    example: '/etc/svc/tls/fullchain.pem',
    meaning: 'Serve HTTPS and WSS. Both TLS settings or neither. Read once, at start.',
    refused: ['/nowhere'],
  },
  GATEWAY_TLS_KEY_FILE: {
    standard: { text: 'HTTP without TLS' },
    accepted: 'path of a PEM file: the private key, without a passphrase',
    example: '/etc/svc/tls/privkey.pem',
    meaning: 'The key of the certificate.',
    refused: ['/nowhere'],
  },
  GATEWAY_VALKEY_URL: {
    standard: {
      text: 'none: limits are kept by this gateway alone, and `revoke-key` has no list to write to',
    },
    accepted:
      '`rediss://<host>:<port>`, `redis://` without TLS; `valkeys://` and `valkey://` mean the same; with a user name before the host and the number of a database behind it where they are needed, without a password',
    example: 'rediss://valkey.example.com:6379',
    meaning:
      'The Valkey (or Redis, from 6 on) by which gateways [share rate limits and revoked keys](../guides/shared-limits.md).',
    refused: ['valkey.example.com', 'redis://:secret@valkey.example.com', 'redis://valkey.example.com?db=1'],
  },
  GATEWAY_VALKEY_PASSWORD_FILE: {
    standard: { text: 'no password' },
    accepted: 'path of a file that holds the password alone, with GATEWAY_VALKEY_URL only',
    example: '/etc/svc/valkey-password',
    meaning:
      'The password of Valkey. With what it makes, the names of buckets are hashed, so that Valkey holds no addresses.',
    refused: ['/nowhere'],
  },
  GATEWAY_VALKEY_PREFIX: {
    standard: { text: '`svc:`' },
    accepted: '1 to 64 of letters, digits, and `: . _ -`, with GATEWAY_VALKEY_URL only',
    example: 'svc:',
    meaning:
      'The prefix of every key and channel in Valkey. Gateways with the same prefix share their limits and revoked keys.',
    refused: ['two words', '*'],
  },
  GATEWAY_COMPRESS: {
    standard: { text: 'off' },
    accepted: '`gzip`',
    example: 'gzip',
    meaning:
      'Compress [answers of calls](http.md#compression) whose rows have 16 KiB or more, for callers whose `Accept-Encoding` takes gzip. Not those of MCP.',
    refused: ['br', 'true'],
  },
  GATEWAY_MCP_OUTPUT_SCHEMA: {
    standard: { value: 'true' },
    accepted: '`true`, `false`, `1`, `0`',
    example: 'true',
    meaning: 'Whether `tools/list` has the `outputSchema` of each tool, some 60 % of its bytes.',
    refused: ['yes'],
  },
  GATEWAY_MCP_REVISIONS: {
    standard: { text: 'all' },
    accepted: '`2026-07-28`, `2025-11-25`, `2025-06-18`, `2025-03-26`, `2024-11-05`, separated by commas',
    example: '2025-11-25,2025-06-18',
    meaning:
      'The [revisions](mcp.md#revisions) of MCP that are served. A client that asks for another gets the newest of them that has a handshake, or the list of them.',
    refused: ['2025-06-19', ','],
  },
  GATEWAY_MCP_SESSIONS: {
    standard: { value: 'true' },
    accepted: '`true`, `false`, `1`, `0`',
    example: 'false',
    meaning:
      'Whether `initialize` issues an `Mcp-Session-Id`, without which a client cannot [cancel](mcp.md#sessions) its calls. Clients that open a session for each call, and never cancel, send fewer requests without it.',
    refused: ['yes'],
  },
  GATEWAY_METRICS_ADDR: {
    standard: { text: 'off' },
    accepted: 'as for GATEWAY_ADDR, but another address',
    example: '127.0.0.1:9464',
    meaning: 'A listener of its own for `GET /metrics`, see [metrics](metrics.md).',
    refused: ['9464', '127.0.0.1:8080'],
  },
  GATEWAY_CONSOLE_PUBLIC: {
    standard: { value: 'false' },
    accepted: '`true`, `false`, `1`, `0`',
    example: 'true',
    meaning:
      'Serve [pages for callers](../guides/console.md#for-callers) at `/console/`: they show what the API key that is typed in may call, and call it.',
    refused: ['yes'],
  },
  GATEWAY_CONSOLE_ADDR: {
    standard: { text: 'off' },
    accepted:
      'as for GATEWAY_ADDR, but another address; beyond loopback only with TLS, see [the guide](../guides/console.md#where-it-listens)',
    example: '127.0.0.1:9091',
    meaning: 'A listener of its own for the [console of operators](../guides/console.md), at `/console/`.',
    refused: ['9091', '127.0.0.1:8080', '127.0.0.1:9464'],
  },
  GATEWAY_CONSOLE_TOKEN_SHA256: {
    standard: { text: 'none; required with GATEWAY_CONSOLE_ADDR' },
    accepted: '64 hexadecimal digits: the SHA-256 of the token, with GATEWAY_CONSOLE_ADDR only',
    example: '2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824',
    meaning: 'What the token of the console is checked by. `svc-gateway create-console-token` makes both.',
    refused: ['secret', '2cf24dba'],
  },
  GATEWAY_CONSOLE_BEHIND_TLS_PROXY: {
    standard: { value: 'false' },
    accepted: '`true`, `false`, `1`, `0`, with GATEWAY_CONSOLE_ADDR only',
    example: 'false',
    meaning:
      'Lets the console listen beyond loopback without TLS of its own, since a proxy before it has TLS and nothing else reaches it.',
    refused: ['yes'],
  },
  GATEWAY_TRACE_URL: {
    standard: { text: 'none: traces are not linked' },
    accepted: 'an http or https URL with `{trace_id}` in it, with GATEWAY_CONSOLE_ADDR only',
    example: 'https://grafana.example.com/explore?trace={trace_id}',
    meaning: 'Where the console links the trace of a call.',
    refused: ['https://grafana.example.com', 'javascript:{trace_id}'],
  },
  GATEWAY_TRACES: {
    standard: { text: 'off' },
    accepted: '`otlp`',
    example: 'otlp',
    meaning:
      'Send [traces](../guides/traces.md) of calls to a collector, as the variables `OTEL_*` of OpenTelemetry say. Those count only once this is set.',
    refused: ['true', 'OTLP'],
  },
  GATEWAY_TRACES_HEADERS_FILE: {
    standard: { text: 'the headers of `OTEL_EXPORTER_OTLP_HEADERS` alone' },
    accepted: 'path of a file with a `Name: value` on each line, with GATEWAY_TRACES only',
    example: '/etc/svc/traces-headers',
    meaning:
      'HTTP headers for the collector, such as its token. They win over the variables. Read once, at start.',
    refused: ['/nowhere'],
  },
  GATEWAY_LOG_LEVEL: {
    standard: { value: 'info' },
    accepted: '`debug`, `info`, `warn`, `error`',
    example: 'info',
    meaning: 'The least level that is logged. Request records are `info`.',
    refused: ['INFO', 'trace'],
  },
  GATEWAY_LOG_PROBES: {
    standard: { value: 'true' },
    accepted: '`true`, `false`, `1`, `0`',
    example: 'false',
    meaning:
      'Whether the log has a record of each request of `/healthz` and `/readyz` that was answered with 200 or 503. Metrics count them anyway.',
    refused: ['no'],
  },
  GATEWAY_WORKERS: {
    standard: { value: '1' },
    accepted: 'a whole number from 1 to 64, or `auto` for one a core; above 1 on Linux and macOS only',
    example: '2',
    meaning:
      'How many processes serve. Above 1 a primary process starts that many workers, replaces one that ends, and writes log, metrics and snapshot for all; together they are one gateway with one address, one set of limits and one `replica_id`.',
    refused: ['0', '65', 'all'],
  },
};

export function settingsTable(): string {
  const rows = Object.entries(SETTING_DOCS).map(([name, doc]) => [
    `<a id="${name.toLowerCase()}"></a>${code(name)}`,
    doc.meaning,
    doc.accepted,
    standardOf(doc),
  ]);
  return table(['Setting', 'Meaning', 'Accepted', 'When absent'], rows);
}

/** Every example as one file for `--env-file`. */
export function settingsExample(): string {
  return Object.entries(SETTING_DOCS)
    .flatMap(([name, { example }]) =>
      example === undefined ? [] : [`${name}=${/[$"]/.test(example) ? `'${example}'` : example}`],
    )
    .join('\n');
}

function standardOf({ standard }: SettingDoc): string {
  if (standard === 'required') return 'a fault: **required**';
  return 'value' in standard ? code(standard.value) : standard.text;
}
