import type { CallErrorCode } from '../core/call-error.ts';

/** The one table from codes to HTTP; docs/reference/errors.md has it for callers. */
const STATUS: Readonly<Record<CallErrorCode, number>> = {
  GATEWAY_UNAUTHORIZED: 401,
  GATEWAY_ISSUER_UNAVAILABLE: 503,
  GATEWAY_CAPABILITY_NOT_PERMITTED: 403,
  GATEWAY_CAPABILITY_NOT_FOUND: 404,
  GATEWAY_SOURCE_NOT_ALLOWED: 403,
  GATEWAY_ORIGIN_NOT_ALLOWED: 403,
  GATEWAY_NOT_FOUND: 404,
  GATEWAY_METHOD_NOT_ALLOWED: 405,
  GATEWAY_UPGRADE_REQUIRED: 426,
  GATEWAY_RATE_LIMITED: 429,
  GATEWAY_REQUEST_TIMEOUT: 408,
  GATEWAY_INVALID_REQUEST: 400,
  GATEWAY_AGENT_TIMEOUT: 504,
  GATEWAY_AGENT_OFFLINE: 503,
  GATEWAY_INTERNAL: 500,
  AGENT_INVALID_PARAMS: 400,
  AGENT_PRINCIPAL_REFUSED: 403,
  AGENT_BUSY: 503,
  AGENT_DATABASE_UNAVAILABLE: 503,
  AGENT_QUERY_TIMEOUT: 504,
  AGENT_RESULT_TOO_LARGE: 502,
  AGENT_QUERY_FAILED: 502,
};

/** Headers that come with a code whatever the request was. */
const HEADERS: Readonly<Partial<Record<CallErrorCode, readonly string[]>>> = {
  GATEWAY_UNAUTHORIZED: ['WWW-Authenticate', 'Bearer'],
  GATEWAY_ISSUER_UNAVAILABLE: ['Retry-After', '1'],
  GATEWAY_REQUEST_TIMEOUT: ['Connection', 'close'],
  // A `Connection` of ours stands instead of Node's own, which would close where the caller wants that.
  GATEWAY_UPGRADE_REQUIRED: ['Upgrade', 'websocket', 'Connection', 'Upgrade, close'],
  GATEWAY_RATE_LIMITED: ['Retry-After', '1'],
  AGENT_BUSY: ['Retry-After', '1'],
  AGENT_DATABASE_UNAVAILABLE: ['Retry-After', '5'],
};

export interface ErrorResponse {
  readonly status: number;
  readonly headers: readonly string[];
  readonly body: Buffer;
}

/** `extraHeaders`, when given, stand instead of those of the table. */
export function errorResponse(
  code: CallErrorCode,
  message: string,
  extraHeaders: readonly string[] = [],
): ErrorResponse {
  const body = Buffer.from(JSON.stringify({ error: { code, message } }));
  const headers = extraHeaders.length > 0 ? extraHeaders : (HEADERS[code] ?? []);
  return { status: STATUS[code], headers, body };
}
