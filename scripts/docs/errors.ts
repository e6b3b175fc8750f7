import type { AgentErrorCode, CloseCode } from '@svc/protocol';
import type { CallErrorCode } from '../../packages/gateway/src/core/call-error.ts';
import { errorResponse } from '../../packages/gateway/src/http/error-response.ts';
import { code, table } from './markdown.ts';

interface ErrorDoc {
  readonly when: string;
  readonly caller: string;
  readonly operator: string;
  /** Every call only reads, so a repeated one never does harm; this says whether it can help. */
  readonly repeat: 'no' | 'after the wait' | 'yes, with growing pauses' | 'once';
}

const ERROR_DOCS: Readonly<Record<CallErrorCode, ErrorDoc>> = {
  GATEWAY_UNAUTHORIZED: {
    when: 'No API key, or one that no record fits or whose record has expired. Where tokens are taken: or no access token that is valid here, or one that is older than an agent takes.',
    caller:
      'Send the key as `Authorization: Bearer <key>` or `X-API-Key: <key>`, a token as `Authorization: Bearer <token>`; get a new token when `WWW-Authenticate` says `invalid_token`.',
    operator:
      'The record of the key, and for GATEWAY_API_KEYS_JSON whether the gateway was restarted since; for tokens `auth_failure` of the log record.',
    repeat: 'no',
  },
  GATEWAY_ISSUER_UNAVAILABLE: {
    when: 'The keys of the issuer of the access token are not known: they could not be fetched since the start, or for longer than GATEWAY_JWKS_MAX_STALE. With GATEWAY_VALKEY_URL also of API keys, for half a minute after the start at most, while the list of revoked keys could not be read; with GATEWAY_WORKERS where the process that checks keys has just ended.',
    caller: 'Wait for `Retry-After` seconds; the token or key may be good.',
    operator: 'The `keys_fetch_failed` records; for API keys `svc_gateway_valkey_up`.',
    repeat: 'after the wait',
  },
  GATEWAY_CAPABILITY_NOT_PERMITTED: {
    when: 'The key or token may not call this capability, whether or not there is one of that name. Also a token that permits nothing because it lacks a scope, whatever it asks for.',
    caller:
      'Ask for the permission, or check the spelling; get a token with the scopes of `WWW-Authenticate` where it says `insufficient_scope`.',
    operator:
      '`capabilities` of the record with the `api_key_name` of the log record; for tokens `grants` of the issuer.',
    repeat: 'no',
  },
  GATEWAY_CAPABILITY_NOT_FOUND: {
    when: 'The key may call it, but no agent has it, those that are away included.',
    caller: 'Check the name against `/openapi.json`.',
    operator: 'The capability file of every agent; `capabilities` of the `agent_connected` records.',
    repeat: 'no',
  },
  GATEWAY_SOURCE_NOT_ALLOWED: {
    when: 'The source address is not in the allow list.',
    caller: 'Call from an allowed network.',
    operator: 'GATEWAY_IP_ALLOW_LIST; behind a proxy also GATEWAY_TRUSTED_PROXY_CIDRS.',
    repeat: 'no',
  },
  GATEWAY_ORIGIN_NOT_ALLOWED: {
    when: 'On `/mcp` only: the `Origin` header names a page that may not call, or a gateway on a loopback address was called by another host name.',
    caller: 'From a web page: ask for its origin to be allowed. Otherwise send no `Origin`.',
    operator: 'GATEWAY_CORS_ALLOWED_ORIGINS for pages; GATEWAY_PUBLIC_URL for the name callers use.',
    repeat: 'no',
  },
  GATEWAY_NOT_FOUND: {
    when: 'No such path.',
    caller: 'Check the URL; there is no slash at the end.',
    operator: 'Whether a proxy rewrites the path.',
    repeat: 'no',
  },
  GATEWAY_METHOD_NOT_ALLOWED: {
    when: 'The path is there, but not for this method. `Allow` lists the methods.',
    caller: 'Use a listed method.',
    operator: 'Whether a redirect turned a POST into a GET.',
    repeat: 'no',
  },
  GATEWAY_UPGRADE_REQUIRED: {
    when: 'A request of `/ws/agent` that asks for no WebSocket.',
    caller: 'Nothing: the path is for agents.',
    operator: 'Whether a proxy removes `Upgrade`.',
    repeat: 'no',
  },
  GATEWAY_RATE_LIMITED: {
    when: 'Too many requests from this source; or four new keys were being checked; or too many agents were connecting; or too many bodies were on their way; or too many wrong keys came from this source; or more than 100 requests waited on one connection; or too many requests or calls of this principal.',
    caller: 'Wait for `Retry-After` seconds.',
    operator:
      'GATEWAY_RATE_LIMIT_REQUESTS_PER_SECOND and GATEWAY_RATE_LIMIT_BURST; `source` of the records; for principals the settings that begin with GATEWAY_PRINCIPAL_.',
    repeat: 'after the wait',
  },
  GATEWAY_REQUEST_TIMEOUT: {
    when: 'The headers or the body did not arrive in time. The connection is closed.',
    caller: 'Send the body at once, over a connection that is fast enough.',
    operator: 'GATEWAY_BODY_READ_TIMEOUT; the network in between.',
    repeat: 'yes, with growing pauses',
  },
  GATEWAY_INVALID_REQUEST: {
    when: 'The request is malformed: content type, body size, JSON, two credentials, forwarding header. The message says which.',
    caller: 'Mend the request.',
    operator: 'GATEWAY_MAX_REQUEST_BODY_BYTES; the forwarding header of a trusted proxy.',
    repeat: 'no',
  },
  GATEWAY_AGENT_TIMEOUT: {
    when: "No answer within the capability's time and 2 s.",
    caller: 'Repeat once, then report.',
    operator: 'The load of the agent and its machine; the link.',
    repeat: 'once',
  },
  GATEWAY_AGENT_OFFLINE: {
    when: 'No agent that has the capability is connected, or the one with the call was lost and no other could take it. For access tokens: or only agents of version 0.1 have it.',
    caller: 'Repeat with growing pauses.',
    operator: '`agent_disconnected` and `agent_rejected` records; standard error of the agent.',
    repeat: 'yes, with growing pauses',
  },
  GATEWAY_INTERNAL: {
    when: 'A fault of the gateway itself.',
    caller: 'Report the request id.',
    operator: 'The `internal_error` record with that request id.',
    repeat: 'once',
  },
  AGENT_INVALID_PARAMS: {
    when: 'Parameters are refused, by their schema or by what the query does with them. The message names each and why, never a value.',
    caller: 'Mend the parameters; `/openapi.json` has their schema.',
    operator: '`params` of the capability.',
    repeat: 'no',
  },
  AGENT_PRINCIPAL_REFUSED: {
    when: 'The agent does not accept the key or the token, or the capability takes something from who calls that is missing or does not fit. Only with `identity` in the capability file.',
    caller: 'Use a credential of somebody who has what the capability takes, or a fresh token.',
    operator:
      '`detail` of the `call` record; `identity` and `from` in the capability file; `claims` of the key record or of the issuer.',
    repeat: 'no',
  },
  AGENT_BUSY: {
    when: 'The agent runs and queues as many calls as it may, and nobody has more of them; or the call has given its place to one of a caller with fewer.',
    caller: 'Wait for `Retry-After` seconds.',
    operator:
      '`runtime.max_concurrent_requests`, `runtime.queue_size`, `database.max_connections`; slow queries; one more agent.',
    repeat: 'after the wait',
  },
  AGENT_DATABASE_UNAVAILABLE: {
    when: 'The agent could not verify the database of the capability yet, because it has been away since the agent started or loaded its file, or because it is not as the file says. Nothing ran.',
    caller: 'Wait for `Retry-After` seconds.',
    operator:
      "The agent's log: `database_away` and `database_refused` say which database and why. The agent tries one that is away again by itself; one that was refused needs a reload.",
    repeat: 'after the wait',
  },
  AGENT_QUERY_TIMEOUT: {
    when: "The capability's time was up, in the queue or in the database.",
    caller: 'Ask for less; repeat once.',
    operator: '`policy.timeout`; the plan of the query; `detail` of the `call` record.',
    repeat: 'once',
  },
  AGENT_RESULT_TOO_LARGE: {
    when: 'One row alone exceeds `max_bytes`, or a cap is exceeded under `on_limit: error`.',
    caller: 'Narrow the request.',
    operator: '`policy.max_rows`, `policy.max_bytes`, `policy.on_limit`.',
    repeat: 'no',
  },
  AGENT_QUERY_FAILED: {
    when: 'The query failed in the database, or the database could not be reached.',
    caller: 'Repeat with growing pauses, then report the request id.',
    operator: '`detail` of the `call` record with that request id in `svc-agent.log`.',
    repeat: 'yes, with growing pauses',
  },
};

/** What the agent may say on the link besides the codes that callers see, and what becomes of it. */
const LINK_ONLY_CODES: Readonly<Record<Exclude<AgentErrorCode, CallErrorCode>, string>> = {
  AGENT_UNKNOWN_CAPABILITY:
    'The agent has no such capability. Tried on another, else GATEWAY_CAPABILITY_NOT_FOUND.',
  AGENT_CANCELLED: 'The caller went away, or the time was up at the gateway. Nobody is answered.',
  AGENT_DRAINING:
    'The agent is shutting down and did not begin. Tried on another, else GATEWAY_AGENT_OFFLINE.',
};

const CLOSE_CODE_DOCS: Readonly<Record<CloseCode, string>> = {
  1001: 'A clean end: one side is shutting down.',
  4400: 'The other side broke the protocol.',
  4401: 'The gateway does not know the key of the agent, or the signature is wrong.',
  4403: 'The agent dialled a URL that is not one of the gateway.',
  4408: 'The handshake took longer than 5 s.',
  4409: 'The gateway takes no further link here (GATEWAY_MAX_AGENT_LINKS); the agent looks for another worker or replica.',
  4422: 'The description of the agent is missing, late, malformed, too long, or not the one it signed.',
  4426: 'Agent and gateway have no protocol version in common.',
};

const isCode = (name: string): name is CallErrorCode => Object.hasOwn(ERROR_DOCS, name);
export const ERROR_CODES: readonly CallErrorCode[] = Object.keys(ERROR_DOCS).filter(isCode);

export function errorTable(): string {
  const rows = ERROR_CODES.map((name) => ({ name, status: errorResponse(name, '').status }))
    .toSorted((a, b) => a.status - b.status)
    .map(({ name, status }) => {
      const { when, caller, operator, repeat } = ERROR_DOCS[name];
      const page = name.startsWith('AGENT_') ? 'troubleshooting-agent' : 'troubleshooting';
      const link = `[${code(name)}](../guides/${page}.md#${name.toLowerCase()})`;
      return [String(status), link, when, caller, operator, repeat];
    });
  return table(
    ['Status', 'Code', 'When', 'What the caller does', 'What the operator looks at', 'Repeat?'],
    rows,
  );
}

export function linkCodeTable(): string {
  const rows = Object.entries(LINK_ONLY_CODES).map(([name, text]) => [code(name), text]);
  return table(['Code', 'Meaning, and what the caller gets'], rows);
}

export function closeCodeTable(): string {
  const rows = Object.entries(CLOSE_CODE_DOCS).map(([number, text]) => [number, text]);
  return table(['Close code', 'Meaning'], rows);
}
