/** Every way in which a request can fail, as callers see it (docs/reference/errors.md). A closed list. */
export type CallErrorCode =
  | 'GATEWAY_UNAUTHORIZED'
  | 'GATEWAY_ISSUER_UNAVAILABLE'
  | 'GATEWAY_CAPABILITY_NOT_PERMITTED'
  | 'GATEWAY_CAPABILITY_NOT_FOUND'
  | 'GATEWAY_SOURCE_NOT_ALLOWED'
  | 'GATEWAY_ORIGIN_NOT_ALLOWED'
  | 'GATEWAY_NOT_FOUND'
  | 'GATEWAY_METHOD_NOT_ALLOWED'
  | 'GATEWAY_UPGRADE_REQUIRED'
  | 'GATEWAY_RATE_LIMITED'
  | 'GATEWAY_REQUEST_TIMEOUT'
  | 'GATEWAY_INVALID_REQUEST'
  | 'GATEWAY_AGENT_TIMEOUT'
  | 'GATEWAY_AGENT_OFFLINE'
  | 'GATEWAY_INTERNAL'
  | 'AGENT_INVALID_PARAMS'
  | 'AGENT_PRINCIPAL_REFUSED'
  | 'AGENT_BUSY'
  | 'AGENT_DATABASE_UNAVAILABLE'
  | 'AGENT_QUERY_TIMEOUT'
  | 'AGENT_RESULT_TOO_LARGE'
  | 'AGENT_QUERY_FAILED';

/** `message` is public; what lies behind it stays in `cause`. */
export class CallError extends Error {
  readonly code: CallErrorCode;
  /** For the HTTP answer, names and values in turn, instead of those that come with the code. */
  readonly headers: readonly string[];
  constructor(
    code: CallErrorCode,
    message: string,
    options: ErrorOptions & { readonly headers?: readonly string[] } = {},
  ) {
    super(message, options);
    this.name = 'CallError';
    this.code = code;
    this.headers = options.headers ?? [];
  }
}

/** The caller went away: nobody is left to answer. */
export class CallerGone extends Error {
  constructor() {
    super('the caller closed the connection');
    this.name = 'CallerGone';
  }
}
