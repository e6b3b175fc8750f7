/** What `svc-gateway --help` prints. */
export const HELP: string = `Usage:
  svc-gateway [--env-file <path>]
      Run the gateway. It is configured by environment variables; --env-file reads
      more of them from a file (NAME=value lines; the environment itself wins).

  svc-gateway create-key --name <name> --capabilities <a,b|"*"> [--claim <name>=<text>]...
                         [--principal <name>] [--expires-at <time>] [--json]
      Create an API key for a caller: prints the key once, and the record to add
      to GATEWAY_API_KEYS_JSON or to the file of keys or services. Capabilities take
      claims as parameters that callers neither see nor set; --claim <name>:=<json>
      is a number, true, false or a list of texts. Keys of one principal count as
      one caller.

  svc-gateway revoke-key --key-id <id> [--env-file <path>] [--json]
      Have all gateways that share GATEWAY_VALKEY_URL refuse an API key from now on:
      within three seconds, and until its record is removed, which is still to be done.

  svc-gateway create-agent-secret [--json]        (also: create-agent)
      Create the key pair by which an agent proves itself to the gateway.

  svc-gateway --help | --version

Required settings:
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
  GATEWAY_SHUTDOWN_DELAY                  how long all is served behind SIGTERM          (0s)
  GATEWAY_READY_AFTER                     longest wait for all agents at start          (0s)
  GATEWAY_AGENT_WAIT                      how long calls wait for an agent just lost    (0s)
  GATEWAY_TLS_CERT_FILE                   PEM certificate chain: serves HTTPS
  GATEWAY_TLS_KEY_FILE                    PEM private key that belongs to it
  GATEWAY_VALKEY_URL                      Valkey by which gateways share limits and revoked keys
  GATEWAY_VALKEY_PASSWORD_FILE            file with its password
  GATEWAY_VALKEY_PREFIX                   begin of all names there                     (svc:)
  GATEWAY_METRICS_ADDR                    address for GET /metrics                      (off)
  GATEWAY_LOG_LEVEL                       debug, info, warn or error                   (info)
  GATEWAY_WORKERS                         processes that serve, 1 to 64 or auto           (1)

Exit codes: 0 fine, 1 failure at run time, 2 wrong usage or configuration.
`;
