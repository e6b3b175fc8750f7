import { CALL_ERRORS, type CallErrorCode } from '@svc/protocol';

/** `message` is public; what lies behind it stays in `cause`. */
export class CallError extends Error {
  readonly code: CallErrorCode;
  /** For the HTTP answer, names and values in turn, instead of those that come with the code. */
  readonly headers: readonly string[];
  constructor(
    code: CallErrorCode,
    message: string = CALL_ERRORS[code].text,
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

export function rateLimited(
  { retryAfterSeconds }: { readonly retryAfterSeconds: number },
  message?: string,
): CallError {
  return new CallError('GATEWAY_RATE_LIMITED', message, {
    headers: ['Retry-After', String(retryAfterSeconds)],
  });
}

export interface ErrorResponse {
  readonly status: number;
  readonly headers: readonly string[];
  readonly body: Buffer;
}

/** `extraHeaders` replace those that come with the code. */
export function errorResponse(
  code: CallErrorCode,
  message: string = CALL_ERRORS[code].text,
  extraHeaders: readonly string[] = [],
): ErrorResponse {
  const { status, headers = [] } = CALL_ERRORS[code];
  const body = Buffer.from(JSON.stringify({ error: { code, message } }));
  return { status, headers: extraHeaders.length > 0 ? extraHeaders : headers, body };
}
