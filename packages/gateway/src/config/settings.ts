/** What `--help` and docs/reference/settings.md say of a setting. */
export interface SettingText {
  /** Without the default where that is a `value`; another default stands at its end, in parentheses. */
  readonly help: string;
  readonly meaning: string;
  readonly accepted: string;
  /** What its absence means: the same as that value, or what the text says. */
  readonly absent: { readonly value: string } | { readonly text: string } | 'required';
  /** Undefined if the value that its absence means is a good one. All examples together are one sound environment. */
  readonly example?: string;
}

/** Every environment variable that the gateway reads. */
export const SETTINGS = {
  GATEWAY_AGENT_PUBLIC_KEY: {
    help: 'base64url public key of the agent; several with commas',
    meaning:
      'The public keys of the agents that may connect. Several keys are for several agents, or for the [rotation](../guides/keys-and-rotation.md#rotate-the-agents-key) of a key.',
    accepted: 'base64url of 32 bytes (43 characters); several separated by commas',
    absent: 'required',
    example: 'JaBcK5sQsUjir6nZ2mfgyNJqqc3-9d2dyM0_JmKfRJ4',
  },
  GATEWAY_API_KEYS_JSON: {
    help: 'JSON array of API key records, in single quotes;\nor GATEWAY_API_KEYS_FILE',
    meaning:
      'Who may call, and what. GATEWAY_API_KEYS_FILE can take its place. `[]` is accepted, with a warning unless GATEWAY_ISSUERS_JSON is set, since every call is then refused.',
    accepted: 'JSON array of at most 100 [records](#api-key-records)',
    absent: 'required',
    example:
      '[{"name":"reports","key_id":"3cb8a443faa5","key_hash":"$2b$10$LCsAtkVUgcTm.KmpcIk1IeQ0jKfRj5YIXDUSqbVM9Gc1uUguQogwe","capabilities":["find_book"]}]',
  },
  GATEWAY_API_KEYS_FILE: {
    help: 'file of the API key records, read again when it changes',
    meaning:
      'The API keys in a file that is [read again](#files-that-are-read-again) when it changes, without a restart.',
    accepted: 'path of a JSON file: the array of GATEWAY_API_KEYS_JSON; one of the two settings',
    absent: { text: 'GATEWAY_API_KEYS_JSON has the records' },
  },
  GATEWAY_SERVICES_FILE: {
    help: 'file of further services, read again when it changes',
    meaning:
      'Further [services](../guides/services.md) of this gateway, each with agents, keys and issuers of its own under `/s/<service>`. Read again when it changes. With `"id": "default"` in it, GATEWAY_AGENT_PUBLIC_KEY and the API keys may be absent.',
    accepted: 'path of a JSON file of at most 100 [services](#the-services-file)',
    absent: { text: 'one service' },
    example: '/etc/svc/services.json',
  },
  GATEWAY_ISSUERS_JSON: {
    help: 'JSON array of identity providers whose tokens are taken',
    meaning:
      'The identity providers whose access tokens are taken beside API keys, and what their bearers may call.',
    accepted:
      'JSON array of at most 16 [records](#issuer-records); with one or more, GATEWAY_PUBLIC_URL is required',
    absent: { text: 'none: API keys only' },
    example:
      '[{"name":"idp","issuer":"https://idp.example.com","grants":[{"capabilities":["find_book"],"scope":"library.read"}]}]',
  },
  GATEWAY_TOKEN_CLOCK_SKEW: {
    help: 'how far their clocks may be off',
    meaning: 'How far the clocks of issuers and gateway may differ when the times of a token are checked.',
    accepted: 'a duration from `0s` to `5m`',
    absent: { value: '30s' },
  },
  GATEWAY_JWKS_REFRESH: {
    help: 'how often their keys are fetched',
    meaning:
      'How often the keys of the issuers are fetched in the background. A token whose key is not known yet makes the gateway fetch them at once, every 30 s at most.',
    accepted: 'a duration from `10s` to `24h`',
    absent: { value: '10m' },
  },
  GATEWAY_JWKS_MAX_STALE: {
    help: 'how long keys count if no fetch succeeds',
    meaning: 'How long the last keys of an issuer remain valid while they cannot be fetched.',
    accepted: 'a duration from `1m` to `720h`, at least as long as GATEWAY_JWKS_REFRESH',
    absent: { value: '24h' },
  },
  GATEWAY_ADDR: {
    help: ':<port> or <host>:<port>',
    meaning:
      'Where to listen. Without a host: on every interface. Port 0 takes a free port, which the `listening` record names.',
    accepted: '`:<port>`, `<host>:<port>`, `[<IPv6>]:<port>`',
    absent: { value: ':8080' },
    example: '127.0.0.1:8080',
  },
  GATEWAY_PUBLIC_URL: {
    help: 'base URL under which callers reach the gateway',
    meaning:
      'The base URL under which callers reach the gateway: `servers[0].url` in `/openapi.json` (`/` when absent), and the default of GATEWAY_AGENT_URLS. With a path, such as `https://example.com/data`, every route answers below it (`/data/mcp`, `/data/ws/agent`) and without it, so that a proxy may keep it or take it away. The audience of access tokens is this URL followed by `/mcp`; GATEWAY_ISSUERS_JSON therefore requires this setting, and requires `https` except on loopback.',
    accepted: 'an `http://` or `https://` URL without credentials, query and fragment',
    absent: { text: 'none' },
    example: 'https://gateway.example.com',
  },
  GATEWAY_AGENT_URLS: {
    help: 'URLs that agents may dial (from GATEWAY_PUBLIC_URL)',
    meaning:
      'The URLs that agents may dial. An agent signs the URL it dialled, so a signature made for another gateway is refused (close code 4403). Loopback URLs are always accepted. With neither this nor GATEWAY_PUBLIC_URL any URL is accepted, with a warning. `{replica}` stands for the numbers 0 to 63, where each replica has a host of its own.',
    accepted: '`ws://` or `wss://` URLs, separated by commas; `{replica}` once in the first label of a host',
    absent: { text: 'GATEWAY_PUBLIC_URL with `ws` for `http` and `/ws/agent` after it' },
    example: 'wss://gateway.example.com/ws/agent',
  },
  GATEWAY_REPLICAS: {
    help: 'how many replicas, or dns:<name>',
    meaning:
      'How many replicas of the gateway there are. Agents hold links to all of them. The name is one that has an address for each replica, such as that of a headless Service; it is looked up every 5 s, and the last count holds while the lookup fails.',
    accepted: 'a whole number from 1 to 16, or `dns:<name>`',
    absent: { value: '1' },
    example: '3',
  },
  GATEWAY_LINKS_PER_REPLICA: {
    help: 'links of an agent to each (workers, 4 at most)',
    meaning:
      'How many links an agent holds to each replica, each to another worker; no more than there are workers.',
    accepted: 'a whole number from 1 to 16',
    absent: { text: 'the number of workers, 4 at most' },
    example: '2',
  },
  GATEWAY_MAX_AGENT_LINKS: {
    help: 'links that one worker takes (no limit)',
    meaning:
      'Links of agents that one worker takes. An agent that is one too many looks for another worker or replica (close code 4409); an older one is closed with 1001 and comes again.',
    accepted: 'a whole number from 1 to 1000000',
    absent: { text: 'no limit' },
    example: '1000',
  },
  GATEWAY_CORS_ALLOWED_ORIGINS: {
    help: 'origins separated by commas, or * (none)',
    meaning: 'Which web pages may call from a browser.',
    accepted: 'exact origins separated by commas, or `*` alone',
    absent: { text: 'none: CORS is off' },
    example: 'https://app.example.com',
  },
  GATEWAY_IP_ALLOW_LIST: {
    help: 'networks that may call (all)',
    meaning:
      'Which source addresses may call. The list applies to every path, including `/healthz` and `/ws/agent`, so it must contain the agents.',
    accepted: 'addresses and networks, IPv4 and IPv6, separated by commas; no bits set after the prefix',
    absent: { text: 'everybody may call' },
    example: '10.0.0.0/8,2001:db8::/32',
  },
  GATEWAY_TRUSTED_PROXY_CIDRS: {
    help: 'proxies whose X-Forwarded-For is believed (none)',
    meaning:
      'Whose `X-Forwarded-For` is believed. Read from the right; the first address that is not a trusted proxy is the source. An entry may have a port: `192.0.2.1:4711`, `[2001:db8::1]:4711`.',
    accepted: 'as for GATEWAY_IP_ALLOW_LIST',
    absent: { text: 'none' },
    example: '127.0.0.1/32,::1/128',
  },
  GATEWAY_RATE_LIMIT_REQUESTS_PER_SECOND: {
    help: 'requests per second and source (no limit)',
    meaning:
      'Requests per second from one source: an IPv4 address or an IPv6 /64. Applies to every path, before authentication.',
    accepted: 'a number above 0 and up to 1000000, fractions allowed',
    absent: { text: 'no limit' },
    example: '50',
  },
  GATEWAY_RATE_LIMIT_BURST: {
    help: 'requests at once (the rate, rounded up)',
    meaning: 'Requests that one source may send at once. Without the rate it is a fault.',
    accepted: 'a whole number from 1 to 1000000',
    absent: { text: 'the rate, rounded up' },
    example: '100',
  },
  GATEWAY_PRINCIPAL_RATE_LIMIT_REQUESTS_PER_SECOND: {
    help: 'requests per second and principal (no limit)',
    meaning:
      'Requests per second of one principal, whatever its source: the keys of one `principal`, or one subject of an issuer. Applies after authentication; each entry of an MCP batch counts.',
    accepted: 'as for GATEWAY_RATE_LIMIT_REQUESTS_PER_SECOND',
    absent: { text: 'no limit' },
    example: '20',
  },
  GATEWAY_PRINCIPAL_RATE_LIMIT_BURST: {
    help: 'requests at once (the rate, rounded up)',
    meaning: 'Requests that one principal may send at once. Without its rate it is a fault.',
    accepted: 'a whole number from 1 to 1000000',
    absent: { text: 'the rate, rounded up' },
    example: '40',
  },
  GATEWAY_PRINCIPAL_MAX_CONCURRENT_CALLS: {
    help: 'calls of a principal under way (no limit)',
    meaning: 'Calls of one principal that may be under way at once; a further one gets 429.',
    accepted: 'a whole number from 1 to 1000000',
    absent: { text: 'no limit' },
    example: '32',
  },
  GATEWAY_EMIT_OPENAPI_SNAPSHOT: {
    help: 'true also writes openapi.json',
    meaning:
      'Also write each new description to `openapi.json` in the working directory, in one step; the description of a further service is written to `openapi.<service>.json`.',
    accepted: '`true`, `false`, `1`, `0`',
    absent: { value: 'false' },
  },
  GATEWAY_MAX_REQUEST_BODY_BYTES: {
    help: 'largest request body',
    meaning: 'The largest request body.',
    accepted: 'a whole number from 1 to 67108864',
    absent: { value: '1048576' },
  },
  GATEWAY_BODY_READ_TIMEOUT: {
    help: 'time to receive a body, like 30s or 1m30s',
    meaning: 'How long a request body may take to arrive, however it trickles in.',
    accepted: 'a duration from `1ms` to `1h`',
    absent: { value: '10s' },
  },
  GATEWAY_KEEP_ALIVE_TIMEOUT: {
    help: 'how long an idle connection is kept',
    meaning:
      'How long an idle connection is kept. `Keep-Alive: timeout=` tells callers two seconds less. A proxy before the gateway must close its idle connections earlier.',
    accepted: 'a duration from `1s` to `1h`',
    absent: { value: '67s' },
  },
  GATEWAY_SHUTDOWN_DELAY: {
    help: 'how long it serves on after SIGTERM',
    meaning:
      'How long the gateway goes on serving after it was asked to end, while `/readyz` and `/healthz` answer 503, so that a load balancer stops using it first. Must be longer than its checks take to notice.',
    accepted: 'a duration from `0s` to `10m`',
    absent: { value: '0s' },
    example: '10s',
  },
  GATEWAY_READY_AFTER: {
    help: 'longest wait for all agents at start',
    meaning:
      'How long after its start, at most, the gateway answers 503 on `/readyz` although an agent is connected. It stops waiting once no agent of a further service has connected for 2 s.',
    accepted: 'a duration from `0s` to `10m`',
    absent: { value: '0s' },
    example: '15s',
  },
  GATEWAY_READY_DATABASES: {
    help: 'databases that /readyz asks for: any or all',
    meaning:
      'Which databases `/readyz` asks for beside a connected agent: with `any` an agent must have one ready, with `all` each database that a connected agent names must be ready at one of the agents. The databases of an older agent, which does not report them, count as ready.',
    accepted: '`any`, `all` or `none`',
    absent: { value: 'none' },
    example: 'any',
  },
  GATEWAY_AGENT_WAIT: {
    help: 'how long calls wait for an agent just lost',
    meaning:
      'How long a call waits for an agent when the last one that has its capability was lost less than 2 s before, within the time of the call. At most 1,000 calls with 8 MiB of parameters wait.',
    accepted: 'a duration from `0s` to `1m`',
    absent: { value: '0s' },
    example: '1s',
  },
  GATEWAY_TLS_CERT_FILE: {
    help: 'PEM certificate chain: serves HTTPS',
    meaning: 'Serve HTTPS and WSS. Both TLS settings or neither. Read once, at start.',
    accepted: 'path of a PEM file: the certificate, then the chain',
    absent: { text: 'HTTP without TLS' },
    example: '/etc/svc/tls/fullchain.pem',
  },
  GATEWAY_TLS_KEY_FILE: {
    help: 'PEM private key that belongs to it',
    meaning: 'The key of the certificate.',
    accepted: 'path of a PEM file: the private key, without a passphrase',
    absent: { text: 'HTTP without TLS' },
    example: '/etc/svc/tls/privkey.pem',
  },
  GATEWAY_VALKEY_URL: {
    help: 'Valkey by which gateways share limits and revoked keys',
    meaning:
      'The Valkey (or Redis, from 6 on) by which gateways [share rate limits and revoked keys](../guides/shared-limits.md).',
    accepted:
      '`rediss://<host>:<port>`, `redis://` without TLS; `valkeys://` and `valkey://` mean the same; with a user name before the host and a database number after it if they are needed, without a password',
    absent: { text: 'none: limits are kept by this gateway alone, and `revoke-key` has no list to write to' },
    example: 'rediss://valkey.example.com:6379',
  },
  GATEWAY_VALKEY_PASSWORD_FILE: {
    help: 'file with its password',
    meaning:
      'The password of Valkey. Bucket names are hashed with a key made from it, so that Valkey stores no addresses.',
    accepted: 'path of a file that holds the password alone, with GATEWAY_VALKEY_URL only',
    absent: { text: 'no password' },
    example: '/etc/svc/valkey-password',
  },
  GATEWAY_VALKEY_PREFIX: {
    help: 'prefix of all names there (svc:)',
    meaning:
      'The prefix of every key and channel name in Valkey. Gateways with the same prefix share their limits and revoked keys.',
    accepted: '1 to 64 of letters, digits, and `: . _ -`, with GATEWAY_VALKEY_URL only',
    absent: { text: '`svc:`' },
    example: 'svc:',
  },
  GATEWAY_COMPRESS: {
    help: 'gzip compresses large answers of calls (off)',
    meaning:
      'Compress [answers of calls](http.md#compression) whose rows have 16 KiB or more, for callers whose `Accept-Encoding` takes gzip. Not those of MCP.',
    accepted: '`gzip`',
    absent: { text: 'off' },
    example: 'gzip',
  },
  GATEWAY_MCP_OUTPUT_SCHEMA: {
    help: 'false shortens tools/list',
    meaning: 'Whether `tools/list` has the `outputSchema` of each tool, some 60 % of its bytes.',
    accepted: '`true`, `false`, `1`, `0`',
    absent: { value: 'true' },
  },
  GATEWAY_MCP_REVISIONS: {
    help: 'revisions of MCP that are served (all)',
    meaning:
      'The [revisions](mcp.md#revisions) of MCP that are served. A client that asks for another gets the newest of them that has a handshake, or the list of them.',
    accepted: '`2026-07-28`, `2025-11-25`, `2025-06-18`, `2025-03-26`, `2024-11-05`, separated by commas',
    absent: { text: 'all' },
    example: '2025-11-25,2025-06-18',
  },
  GATEWAY_MCP_SESSIONS: {
    help: 'false issues no session ids',
    meaning:
      'Whether `initialize` issues an `Mcp-Session-Id`, without which a client cannot [cancel](mcp.md#sessions) its calls. Clients that open a session for each call, and never cancel, send fewer requests without it.',
    accepted: '`true`, `false`, `1`, `0`',
    absent: { value: 'true' },
    example: 'false',
  },
  GATEWAY_METRICS_ADDR: {
    help: 'address for GET /metrics (off)',
    meaning: 'A listener of its own for `GET /metrics`, see [metrics](metrics.md).',
    accepted: 'as for GATEWAY_ADDR, but another address',
    absent: { text: 'off' },
    example: '127.0.0.1:9464',
  },
  GATEWAY_CONSOLE_PUBLIC: {
    help: 'true serves pages for callers at /console/',
    meaning:
      'Serve [pages for callers](../guides/console.md#for-callers) at `/console/`: they show what the API key that is typed in may call, and call it.',
    accepted: '`true`, `false`, `1`, `0`',
    absent: { value: 'false' },
    example: 'true',
  },
  GATEWAY_CONSOLE_ADDR: {
    help: 'address for the console of operators (off)',
    meaning: 'A listener of its own for the [console of operators](../guides/console.md), at `/console/`.',
    accepted:
      'as for GATEWAY_ADDR, but another address; beyond loopback only with TLS, see [the guide](../guides/console.md#where-it-listens)',
    absent: { text: 'off' },
    example: '127.0.0.1:9091',
  },
  GATEWAY_CONSOLE_TOKEN_SHA256: {
    help: 'hash of its token: create-console-token',
    meaning:
      'What the token of the console is checked against. `svc-gateway create-console-token` makes both.',
    accepted: '64 hexadecimal digits: the SHA-256 of the token, with GATEWAY_CONSOLE_ADDR only',
    absent: { text: 'none; required with GATEWAY_CONSOLE_ADDR' },
    example: '2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824',
  },
  GATEWAY_CONSOLE_BEHIND_TLS_PROXY: {
    help: 'true if a proxy does its TLS',
    meaning:
      'Lets the console listen beyond loopback without TLS of its own, because a proxy in front of it does TLS and nothing else can reach it.',
    accepted: '`true`, `false`, `1`, `0`, with GATEWAY_CONSOLE_ADDR only',
    absent: { value: 'false' },
  },
  GATEWAY_TRACE_URL: {
    help: 'where traces are shown, with {trace_id} (none)',
    meaning: 'Where the console links the trace of a call.',
    accepted: 'an http or https URL with `{trace_id}` in it, with GATEWAY_CONSOLE_ADDR only',
    absent: { text: 'none: traces are not linked' },
    example: 'https://grafana.example.com/explore?trace={trace_id}',
  },
  GATEWAY_TRACES: {
    help: 'otlp sends traces, as OTEL_* say (off)',
    meaning:
      'Send [traces](../guides/traces.md) of calls to a collector, as the variables `OTEL_*` of OpenTelemetry say. Those variables have no effect unless this is set.',
    accepted: '`otlp`',
    absent: { text: 'off' },
    example: 'otlp',
  },
  GATEWAY_TRACES_HEADERS_FILE: {
    help: 'file of headers for their collector',
    meaning:
      'HTTP headers for the collector, such as its token. They take precedence over the variables. Read once, at start.',
    accepted: 'path of a file with a `Name: value` on each line, with GATEWAY_TRACES only',
    absent: { text: 'the headers of `OTEL_EXPORTER_OTLP_HEADERS` alone' },
    example: '/etc/svc/traces-headers',
  },
  GATEWAY_LOG_LEVEL: {
    help: 'debug, info, warn or error',
    meaning: 'The lowest level that is logged. Request records are `info`.',
    accepted: '`debug`, `info`, `warn`, `error`',
    absent: { value: 'info' },
  },
  GATEWAY_LOG_PROBES: {
    help: 'false: no records of /healthz, /readyz',
    meaning:
      'Whether the log has a record of each request of `/healthz` and `/readyz` that was answered with 200 or 503. Metrics count them anyway.',
    accepted: '`true`, `false`, `1`, `0`',
    absent: { value: 'true' },
    example: 'false',
  },
  GATEWAY_WORKERS: {
    help: 'processes that serve, 1 to 64 or auto',
    meaning:
      'How many processes serve. With more than 1, a primary process starts that many workers, replaces one that ends, and writes log, metrics and snapshot for all; together they are one gateway with one address, one set of limits and one `replica_id`.',
    accepted: 'a whole number from 1 to 64, or `auto` for one per core; above 1 on Linux and macOS only',
    absent: { value: '1' },
    example: '2',
  },
} as const;

export type Setting = keyof typeof SETTINGS;
