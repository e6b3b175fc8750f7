import type { ProtocolVersion } from './limits.ts';

/** Every code that callers see, in the order of their statuses. Callers rely on this list being closed. */
export type CallErrorCode =
  | 'GATEWAY_INVALID_REQUEST'
  | 'AGENT_INVALID_PARAMS'
  | 'GATEWAY_UNAUTHORIZED'
  | 'GATEWAY_CAPABILITY_NOT_PERMITTED'
  | 'AGENT_PRINCIPAL_REFUSED'
  | 'GATEWAY_SOURCE_NOT_ALLOWED'
  | 'GATEWAY_ORIGIN_NOT_ALLOWED'
  | 'GATEWAY_CAPABILITY_NOT_FOUND'
  | 'GATEWAY_NOT_FOUND'
  | 'GATEWAY_METHOD_NOT_ALLOWED'
  | 'GATEWAY_REQUEST_TIMEOUT'
  | 'GATEWAY_UPGRADE_REQUIRED'
  | 'GATEWAY_RATE_LIMITED'
  | 'GATEWAY_INTERNAL'
  | 'AGENT_QUERY_FAILED'
  | 'AGENT_RESULT_TOO_LARGE'
  | 'GATEWAY_AGENT_OFFLINE'
  | 'AGENT_BUSY'
  | 'AGENT_DATABASE_UNAVAILABLE'
  | 'GATEWAY_ISSUER_UNAVAILABLE'
  | 'AGENT_QUERY_TIMEOUT'
  | 'GATEWAY_AGENT_TIMEOUT';

/** All that is said of one way in which a request fails, wherever it is said. */
interface CallErrorTerms {
  readonly status: number;
  /** Public text, where the place that refuses has no more exact one. */
  readonly text: string;
  /** The text instead, when an agent says that the call was not started. */
  readonly textNotStarted?: string;
  /** Names and values in turn, where the place that refuses gives no others. */
  readonly headers?: readonly string[];
  /** What models read over MCP; `{text}` is the public text, `{request}` the id of the request. */
  readonly forModels: string;
  /** Whether the query may have begun. Where that differs from call to call, the agent says it with its answer. */
  readonly mayHaveBegun: boolean;
  /** A clause of the OpenAPI document; undefined for what no call of a described capability gets. */
  readonly clause?: string;
  /** The clause instead, where the agent asks who calls. */
  readonly clauseWithIdentity?: string;
  /** A text for the OpenAPI document, where `text` is not what callers usually get. */
  readonly example?: string;
  /** What docs/reference/errors.md says: when callers get it, what they do, and what the operator looks at. */
  readonly when: string;
  readonly caller: string;
  readonly operator: string;
  /** Every call only reads, so a repeated one never does harm; this says whether it can help. */
  readonly repeat: 'no' | 'after the wait' | 'yes, with growing pauses' | 'once';
}

const FAILED = 'The call failed: {text}.';
const TOO_MANY = 'Too many calls are under way. Call again in some seconds.';
const TOO_SLOW =
  'The query took longer than it may. Call again with arguments that match fewer rows, or later.';
const NOT_REACHABLE =
  'The database is not reachable at present. Other arguments will not help; call again later.';

export const CALL_ERRORS: Readonly<Record<CallErrorCode, CallErrorTerms>> = {
  GATEWAY_INVALID_REQUEST: {
    status: 400,
    text: 'the request is malformed',
    forModels: FAILED,
    mayHaveBegun: false,
    clause: 'the body is refused',
    example: 'the content type must be application/json',
    when: 'The request is malformed: content type, body size, JSON, two credentials, forwarding header. The message says which.',
    caller: 'Correct the request.',
    operator: 'GATEWAY_MAX_REQUEST_BODY_BYTES; the forwarding header of a trusted proxy.',
    repeat: 'no',
  },
  AGENT_INVALID_PARAMS: {
    status: 400,
    text: 'the database does not take a value of a parameter',
    forModels: 'The arguments were refused: {text}. Correct them and call again.',
    mayHaveBegun: true,
    clause: 'a parameter is',
    example: 'user_id: must be >= 1; name: is required',
    when: 'Parameters are refused, by their schema or by what the query does with them. The message names each and why, never a value.',
    caller: 'Correct the parameters; `/openapi.json` has their schema.',
    operator: '`params` of the capability.',
    repeat: 'no',
  },
  GATEWAY_UNAUTHORIZED: {
    status: 401,
    text: 'a valid API key is required: Authorization: Bearer <key>, or X-API-Key: <key>',
    headers: ['WWW-Authenticate', 'Bearer'],
    forModels: FAILED,
    mayHaveBegun: false,
    clause: 'the API key is missing or wrong',
    when: 'The request has no API key, or its key fits no record, or the record has expired. A gateway that takes tokens also answers this to a token that is not valid here, and to one that is older than an agent accepts.',
    caller:
      'Send the key as `Authorization: Bearer <key>` or `X-API-Key: <key>`, a token as `Authorization: Bearer <token>`; get a new token when `WWW-Authenticate` says `invalid_token`.',
    operator:
      'The record of the key, and for GATEWAY_API_KEYS_JSON whether the gateway was restarted since; for tokens `auth_failure` of the log record.',
    repeat: 'no',
  },
  GATEWAY_CAPABILITY_NOT_PERMITTED: {
    status: 403,
    text: 'the API key may not call this capability',
    forModels: FAILED,
    mayHaveBegun: false,
    clause: 'the API key may not call this capability',
    clauseWithIdentity: 'the caller may not call this capability',
    when: 'The key or token may not call this capability, whether or not there is one of that name. Also a token that permits nothing because it lacks a scope, whatever it asks for.',
    caller:
      'Ask for the permission, or check the spelling; when `WWW-Authenticate` says `insufficient_scope`, get a token with the scopes that it names.',
    operator:
      '`capabilities` of the record with the `api_key_name` of the log record; for tokens `grants` of the issuer.',
    repeat: 'no',
  },
  AGENT_PRINCIPAL_REFUSED: {
    status: 403,
    text: 'the agent does not accept who calls, or the capability takes something from who calls that is missing',
    forModels: 'The call was refused: {text}. Other arguments will not help.',
    mayHaveBegun: true,
    clauseWithIdentity:
      'the agent does not accept who calls or the capability takes something from who calls that is missing',
    when: 'The agent does not accept the key or the token, or the capability needs something of the caller that is missing or does not fit. Only with `identity` in the capability file.',
    caller: 'Use the credential of a caller who has what the capability needs, or a fresh token.',
    operator:
      '`detail` of the `call` record; `identity` and `from` in the capability file; `claims` of the key record or of the issuer.',
    repeat: 'no',
  },
  GATEWAY_SOURCE_NOT_ALLOWED: {
    status: 403,
    text: 'the source address is not allowed',
    forModels: FAILED,
    mayHaveBegun: false,
    clause: 'the source address is not allowed',
    when: 'The source address is not in the allow list.',
    caller: 'Call from an allowed network.',
    operator: 'GATEWAY_IP_ALLOW_LIST; behind a proxy also GATEWAY_TRUSTED_PROXY_CIDRS.',
    repeat: 'no',
  },
  GATEWAY_ORIGIN_NOT_ALLOWED: {
    status: 403,
    text: 'pages of this origin may not call; see GATEWAY_CORS_ALLOWED_ORIGINS',
    forModels: FAILED,
    mayHaveBegun: false,
    when: 'On `/mcp` only: the `Origin` header names a page that may not call, or a gateway on a loopback address was called by another host name.',
    caller: 'From a web page: ask for its origin to be allowed. Otherwise send no `Origin`.',
    operator: 'GATEWAY_CORS_ALLOWED_ORIGINS for pages; GATEWAY_PUBLIC_URL for the name callers use.',
    repeat: 'no',
  },
  GATEWAY_CAPABILITY_NOT_FOUND: {
    status: 404,
    text: 'no such capability',
    forModels: FAILED,
    mayHaveBegun: false,
    clause: 'the capability no longer exists',
    when: 'The key may call it, but no agent has it, including agents that are away.',
    caller: 'Check the name against `/openapi.json`.',
    operator: 'The capability file of every agent; `capabilities` of the `agent_connected` records.',
    repeat: 'no',
  },
  GATEWAY_NOT_FOUND: {
    status: 404,
    text: 'no such path: calls are at /api/v1/capabilities/{name}, MCP is at /mcp',
    forModels: FAILED,
    mayHaveBegun: false,
    when: 'No such path.',
    caller: 'Check the URL; there is no slash at the end.',
    operator: 'Whether a proxy rewrites the path.',
    repeat: 'no',
  },
  GATEWAY_METHOD_NOT_ALLOWED: {
    status: 405,
    text: 'the method is not allowed here: use one that Allow lists',
    forModels: FAILED,
    mayHaveBegun: false,
    when: 'The path exists, but not for this method. `Allow` lists the methods.',
    caller: 'Use a listed method.',
    operator: 'Whether a redirect turned a POST into a GET.',
    repeat: 'no',
  },
  GATEWAY_REQUEST_TIMEOUT: {
    status: 408,
    text: 'the body did not arrive in time',
    headers: ['Connection', 'close'],
    forModels: FAILED,
    mayHaveBegun: false,
    clause: 'the body did not arrive in time',
    when: 'The headers or the body did not arrive in time. The connection is closed.',
    caller: 'Send the body at once, over a connection that is fast enough.',
    operator: 'GATEWAY_BODY_READ_TIMEOUT; the network in between.',
    repeat: 'yes, with growing pauses',
  },
  GATEWAY_UPGRADE_REQUIRED: {
    status: 426,
    text: 'agents connect here by WebSocket',
    // This `Connection` replaces the one of Node.js, which would close when the caller asks for that.
    headers: ['Upgrade', 'websocket', 'Connection', 'Upgrade, close'],
    forModels: FAILED,
    mayHaveBegun: false,
    when: 'A request of `/ws/agent` that asks for no WebSocket.',
    caller: 'Nothing: the path is for agents.',
    operator: 'Whether a proxy removes `Upgrade`.',
    repeat: 'no',
  },
  GATEWAY_RATE_LIMITED: {
    status: 429,
    text: 'too many requests, slow down',
    headers: ['Retry-After', '1'],
    forModels: TOO_MANY,
    mayHaveBegun: false,
    clause: 'too many requests',
    when: 'Too many requests from this source; or four new keys were being checked; or too many agents were connecting; or too many bodies were on their way; or too many wrong keys came from this source; or more than 100 requests waited on one connection; or too many requests or calls of this principal.',
    caller: 'Wait for `Retry-After` seconds.',
    operator:
      'GATEWAY_RATE_LIMIT_REQUESTS_PER_SECOND and GATEWAY_RATE_LIMIT_BURST; `source` of the records; for principals the settings that begin with GATEWAY_PRINCIPAL_.',
    repeat: 'after the wait',
  },
  GATEWAY_INTERNAL: {
    status: 500,
    text: 'the gateway failed; the request id leads to its log',
    forModels: FAILED,
    mayHaveBegun: true,
    clause: 'a fault of the gateway itself',
    when: 'A fault of the gateway itself.',
    caller: 'Report the request id.',
    operator: 'The `internal_error` record with that request id.',
    repeat: 'once',
  },
  AGENT_QUERY_FAILED: {
    status: 502,
    text: 'the query could not be completed',
    forModels:
      'The database did not answer the query. Other arguments may not help; the operator of this service finds the reason under request id {request}.',
    mayHaveBegun: true,
    clause: 'the query failed',
    when: 'The query failed in the database, or the database could not be reached.',
    caller: 'Repeat with growing pauses, then report the request id.',
    operator: '`detail` of the `call` record with that request id in `svc-agent.log`.',
    repeat: 'yes, with growing pauses',
  },
  AGENT_RESULT_TOO_LARGE: {
    status: 502,
    text: 'the result is larger than it may be, narrow the request',
    forModels: 'The result is too large: {text}. Call again with arguments that match less.',
    mayHaveBegun: true,
    clause: 'its result is too large',
    when: 'One row alone exceeds `max_bytes`, or a cap is exceeded under `on_limit: error`.',
    caller: 'Narrow the request.',
    operator: '`policy.max_rows`, `policy.max_bytes`, `policy.on_limit`.',
    repeat: 'no',
  },
  GATEWAY_AGENT_OFFLINE: {
    status: 503,
    text: 'agent is not connected',
    forModels: NOT_REACHABLE,
    mayHaveBegun: true,
    clause: 'no agent is connected',
    when: 'No agent that has the capability is connected, or the one with the call was lost and no other could take it. For access tokens also when only agents of version 0.1 have it.',
    caller: 'Repeat with growing pauses.',
    operator: '`agent_disconnected` and `agent_rejected` records; standard error of the agent.',
    repeat: 'yes, with growing pauses',
  },
  AGENT_BUSY: {
    status: 503,
    text: 'the agent has as many calls as it takes, try again shortly',
    headers: ['Retry-After', '1'],
    forModels: TOO_MANY,
    mayHaveBegun: false,
    clause: 'it is busy',
    when: 'The agent runs and queues as many calls as it may, and nobody has more of them; or the call has given its place to one of a caller with fewer.',
    caller: 'Wait for `Retry-After` seconds.',
    operator:
      '`runtime.max_concurrent_requests`, `runtime.queue_size`, `database.max_connections`; slow queries; one more agent.',
    repeat: 'after the wait',
  },
  AGENT_DATABASE_UNAVAILABLE: {
    status: 503,
    text: 'the database of the capability is not available, try again later',
    headers: ['Retry-After', '5'],
    forModels: NOT_REACHABLE,
    mayHaveBegun: false,
    clause: 'its database is not available',
    when: 'The agent could not verify the database of the capability yet, because it has been away since the agent started or loaded its file, or because it is not as the file says. Nothing ran.',
    caller: 'Wait for `Retry-After` seconds.',
    operator:
      "The agent's log: `database_away` and `database_refused` say which database and why. The agent tries one that is away again by itself; one that was refused needs a reload.",
    repeat: 'after the wait',
  },
  GATEWAY_ISSUER_UNAVAILABLE: {
    status: 503,
    text: 'keys cannot be checked now, try again',
    headers: ['Retry-After', '1'],
    forModels: FAILED,
    mayHaveBegun: false,
    when: 'The keys of the issuer of the access token are not known: they could not be fetched since the start, or for longer than GATEWAY_JWKS_MAX_STALE. With GATEWAY_VALKEY_URL also of API keys, for half a minute after the start at most, while the list of revoked keys could not be read; with GATEWAY_WORKERS while the process that checks keys is started again.',
    caller: 'Wait for `Retry-After` seconds; the token or key may be good.',
    operator: 'The `keys_fetch_failed` records; for API keys `svc_gateway_valkey_up`.',
    repeat: 'after the wait',
  },
  AGENT_QUERY_TIMEOUT: {
    status: 504,
    text: 'the query took longer than it may',
    textNotStarted: 'the time was up before the query began',
    forModels: TOO_SLOW,
    mayHaveBegun: true,
    clause: 'the query took too long',
    when: "The capability's time was up, in the queue or in the database.",
    caller: 'Ask for less; repeat once.',
    operator: '`policy.timeout`; the plan of the query; `detail` of the `call` record.',
    repeat: 'once',
  },
  GATEWAY_AGENT_TIMEOUT: {
    status: 504,
    text: 'the agent did not answer in time',
    forModels: TOO_SLOW,
    mayHaveBegun: true,
    clause: 'no answer came',
    when: "No answer within the capability's time and 2 s.",
    caller: 'Repeat once, then report.',
    operator: 'The load of the agent and its machine; the link.',
    repeat: 'once',
  },
};

/** How a call fails at the agent in ways that callers never see. */
interface LinkErrorTerms extends Pick<CallErrorTerms, 'text' | 'textNotStarted' | 'mayHaveBegun'> {
  /** What callers get when no other agent can take the call. */
  readonly callersGet: CallErrorCode;
  /** What docs/reference/errors.md says. */
  readonly meaning: string;
}

export type LinkErrorCode = 'AGENT_UNKNOWN_CAPABILITY' | 'AGENT_CANCELLED' | 'AGENT_DRAINING';
export const LINK_ERRORS: Readonly<Record<LinkErrorCode, LinkErrorTerms>> = {
  AGENT_UNKNOWN_CAPABILITY: {
    text: 'no such capability',
    callersGet: 'GATEWAY_CAPABILITY_NOT_FOUND',
    mayHaveBegun: false,
    meaning:
      'The agent has no such capability. The gateway tries another agent, else callers get GATEWAY_CAPABILITY_NOT_FOUND.',
  },
  AGENT_CANCELLED: {
    text: 'the call was cancelled',
    callersGet: 'GATEWAY_AGENT_OFFLINE',
    mayHaveBegun: true,
    meaning: 'The caller went away, or the time was up at the gateway. Nobody is answered.',
  },
  AGENT_DRAINING: {
    text: 'the agent is shutting down',
    callersGet: 'GATEWAY_AGENT_OFFLINE',
    mayHaveBegun: false,
    meaning:
      'The agent is shutting down and did not begin. The gateway tries another agent, else callers get GATEWAY_AGENT_OFFLINE.',
  },
};

/** How a call can fail at the agent, as it travels on the link. */
export type AgentErrorCode = Extract<CallErrorCode, `AGENT_${string}`> | LinkErrorCode;
const isOfAgents = (code: string): code is AgentErrorCode => code.startsWith('AGENT_');
const ALL_ERRORS = { ...CALL_ERRORS, ...LINK_ERRORS };
export const AGENT_ERROR_CODES: readonly AgentErrorCode[] = Object.keys(ALL_ERRORS).filter(isOfAgents);
const known: ReadonlySet<string> = new Set(AGENT_ERROR_CODES);

/** Whether a frame of that version may carry the code. */
export function isAgentErrorCode(code: string, version: ProtocolVersion): code is AgentErrorCode {
  return known.has(code) && (version > 1 || code !== 'AGENT_PRINCIPAL_REFUSED');
}

export function isLinkErrorCode(code: AgentErrorCode): code is LinkErrorCode {
  return Object.hasOwn(LINK_ERRORS, code);
}

/** The public text of a call that failed at the agent. */
export function agentErrorText(code: AgentErrorCode, notStarted: boolean): string {
  const { text, textNotStarted = text } = ALL_ERRORS[code];
  return notStarted ? textNotStarted : text;
}

/** Whether no call that ends with this code can have begun its query. */
export function neverBegan(code: AgentErrorCode): boolean {
  return !ALL_ERRORS[code].mayHaveBegun;
}
