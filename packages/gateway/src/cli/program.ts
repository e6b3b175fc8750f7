import type { FlagSpec, ProgramSpec } from '@svc/edge';

const JSON_OUTPUT = 'Print one JSON object instead of text:';
const ENV_FILE: FlagSpec = {
  value: 'path',
  does: 'Read more settings from a file of NAME=value lines; the environment itself wins. When it is not there, Node.js itself ends with exit code 9.',
  suggest: 'file',
};

/** The command line of svc-gateway. */
export const PROGRAM: ProgramSpec = {
  name: 'svc-gateway',
  run: {
    does: 'Run the gateway until a signal ends it. It is configured by environment variables; --env-file reads more of them from a file (NAME=value lines; the environment itself wins).',
    flags: { 'env-file': ENV_FILE },
  },
  commands: {
    'create-key': {
      does: 'Create an API key for a caller: print the key once, and add its record to the file of --file. Without --file the record is printed, for GATEWAY_API_KEYS_JSON or the file of keys or services, and nothing is stored.',
      flags: {
        name: {
          value: 'name',
          isRequired: true,
          does: 'The name of the key, as it appears in logs: 1 to 128 characters without control characters.',
        },
        capabilities: {
          value: 'a,b|"*"',
          isRequired: true,
          does: 'Names separated by commas, or `"*"` for all; mind the quotes.',
        },
        claim: {
          value: 'name=text',
          mayRepeat: true,
          does: '`name=text`, or `name:=json` for a number, true, false or a list of texts. What capabilities may take of their caller as parameters that it neither sees nor sets.',
        },
        principal: {
          value: 'name',
          does: 'Whose key it is; by default the name. Several keys of one principal count as one caller, and must have equal capabilities and claims.',
        },
        'expires-at': {
          value: 'time',
          does: 'From when on the key is refused: a date and time of RFC 3339 with its offset, like `2027-01-31T00:00:00Z`.',
        },
        file: {
          value: 'path',
          does: 'Add the record to this file, a JSON array of records, which GATEWAY_API_KEYS_FILE names. A new file has the mode 0600; one that is there keeps its records, its mode and its owner. When the record cannot be added, the file stays as it is, no key is printed, and the command ends with 2.',
          suggest: 'file',
        },
        json: { does: `${JSON_OUTPUT} \`{"api_key": "...", "record": {...}}\`` },
      },
    },
    'revoke-key': {
      does: 'Have all gateways that share GATEWAY_VALKEY_URL and GATEWAY_VALKEY_PREFIX refuse an API key from now on, within three seconds, and until its record is removed, which is still to be done. Ends with 1 when Valkey does not take it.',
      flags: {
        'key-id': {
          value: 'id',
          isRequired: true,
          does: '`key_id` of the record of the key: what stands in the key between `svc_` and the second `_`.',
        },
        'env-file': {
          ...ENV_FILE,
          does: 'Read the settings from a file, as the gateway does. Only those of Valkey are needed.',
        },
        json: {
          does: `${JSON_OUTPUT} \`{"key_id": "...", "revoked_before": false, "record_found": true}\`; the last is null where the settings have no records.`,
        },
      },
    },
    'create-agent-secret': {
      aliases: ['create-agent'],
      does: 'Create the key pair by which an agent proves itself to the gateway. Prints both keys with the settings that they belong to. Stores nothing.',
      flags: { json: { does: `${JSON_OUTPUT} \`{"agent_private_key": "...", "agent_public_key": "..."}\`` } },
    },
    'create-console-token': {
      does: 'Create the token that opens the console of operators. Prints it with the setting that its hash belongs to. Stores nothing.',
      flags: { json: { does: `${JSON_OUTPUT} \`{"console_token": "...", "console_token_sha256": "..."}\`` } },
    },
  },
  notes: `Required settings:
  GATEWAY_AGENT_PUBLIC_KEY                base64url public key of the agent; several with commas
  GATEWAY_API_KEYS_JSON                   JSON array of API key records, in single quotes;
                                          or GATEWAY_API_KEYS_FILE

Optional settings:
  GATEWAY_API_KEYS_FILE                   file of the API key records, read again when it changes
  GATEWAY_SERVICES_FILE                   file of further services, read again when it changes
  GATEWAY_ISSUERS_JSON                    JSON array of identity providers whose tokens are taken
  GATEWAY_TOKEN_CLOCK_SKEW                how far their clocks may be off               (30s)
  GATEWAY_JWKS_REFRESH                    how often their keys are fetched              (10m)
  GATEWAY_JWKS_MAX_STALE                  how long keys that cannot be fetched count    (24h)
  GATEWAY_ADDR                            :<port> or <host>:<port>                  (:8080)
  GATEWAY_PUBLIC_URL                      base URL under which callers reach the gateway
  GATEWAY_AGENT_URLS                      URLs that agents may dial   (from GATEWAY_PUBLIC_URL)
  GATEWAY_REPLICAS                        how many replicas, or dns:<name>              (1)
  GATEWAY_LINKS_PER_REPLICA               links of an agent to each     (workers, 4 at most)
  GATEWAY_MAX_AGENT_LINKS                 links that one worker takes              (no limit)
  GATEWAY_CORS_ALLOWED_ORIGINS            origins separated by commas, or *           (none)
  GATEWAY_IP_ALLOW_LIST                   networks that may call                        (all)
  GATEWAY_TRUSTED_PROXY_CIDRS             proxies whose X-Forwarded-For is believed    (none)
  GATEWAY_RATE_LIMIT_REQUESTS_PER_SECOND  requests per second and source           (no limit)
  GATEWAY_RATE_LIMIT_BURST                requests at once             (the rate, rounded up)
  GATEWAY_PRINCIPAL_RATE_LIMIT_REQUESTS_PER_SECOND
                                          requests per second and principal        (no limit)
  GATEWAY_PRINCIPAL_RATE_LIMIT_BURST      requests at once             (the rate, rounded up)
  GATEWAY_PRINCIPAL_MAX_CONCURRENT_CALLS  calls of a principal under way           (no limit)
  GATEWAY_EMIT_OPENAPI_SNAPSHOT           true also writes openapi.json               (false)
  GATEWAY_MAX_REQUEST_BODY_BYTES          largest request body                      (1048576)
  GATEWAY_BODY_READ_TIMEOUT               time to receive a body, like 30s or 1m30s     (10s)
  GATEWAY_KEEP_ALIVE_TIMEOUT              how long an idle connection is kept           (67s)
  GATEWAY_SHUTDOWN_DELAY                  how long all is served behind SIGTERM          (0s)
  GATEWAY_READY_AFTER                     longest wait for all agents at start          (0s)
  GATEWAY_READY_DATABASES                 databases that /readyz asks for: any or all  (none)
  GATEWAY_AGENT_WAIT                      how long calls wait for an agent just lost    (0s)
  GATEWAY_TLS_CERT_FILE                   PEM certificate chain: serves HTTPS
  GATEWAY_TLS_KEY_FILE                    PEM private key that belongs to it
  GATEWAY_VALKEY_URL                      Valkey by which gateways share limits and revoked keys
  GATEWAY_VALKEY_PASSWORD_FILE            file with its password
  GATEWAY_VALKEY_PREFIX                   begin of all names there                     (svc:)
  GATEWAY_COMPRESS                        gzip compresses large answers of calls        (off)
  GATEWAY_MCP_OUTPUT_SCHEMA               false shortens tools/list                    (true)
  GATEWAY_MCP_REVISIONS                   revisions of MCP that are served              (all)
  GATEWAY_MCP_SESSIONS                    false issues no session ids                  (true)
  GATEWAY_METRICS_ADDR                    address for GET /metrics                      (off)
  GATEWAY_CONSOLE_PUBLIC                  true serves pages for callers at /console/  (false)
  GATEWAY_CONSOLE_ADDR                    address for the console of operators          (off)
  GATEWAY_CONSOLE_TOKEN_SHA256            hash of its token: create-console-token
  GATEWAY_CONSOLE_BEHIND_TLS_PROXY        true where a proxy has its TLS              (false)
  GATEWAY_TRACE_URL                       where traces are shown, with {trace_id}      (none)
  GATEWAY_TRACES                          otlp sends traces, as OTEL_* say              (off)
  GATEWAY_TRACES_HEADERS_FILE             file of headers for their collector
  GATEWAY_LOG_LEVEL                       debug, info, warn or error                   (info)
  GATEWAY_LOG_PROBES                      false logs no /healthz and /readyz           (true)
  GATEWAY_WORKERS                         processes that serve, 1 to 64 or auto           (1)

Exit codes: 0 fine, 1 failure at run time, 2 wrong usage or configuration.
`,
};
