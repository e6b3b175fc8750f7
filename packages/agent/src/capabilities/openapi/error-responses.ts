interface Failure {
  readonly component: string;
  readonly description: string;
  /** The message of each code, as callers see it. */
  readonly codes: Readonly<Record<string, string>>;
  readonly headers?: Readonly<Record<string, unknown>>;
}

const retryAfter = {
  'Retry-After': {
    description: 'Seconds to wait before trying again.',
    schema: { type: 'integer', minimum: 0 },
  },
};

/** Of every answer, so that a report can name its record in the log. */
export const responseHeaders: Readonly<Record<string, unknown>> = {
  'X-Request-Id': { $ref: '#/components/headers/RequestId' },
};

/** By HTTP status. */
const FAILURES: Readonly<Record<string, Failure>> = {
  400: {
    component: 'BadRequest',
    description: 'The body is refused (GATEWAY_INVALID_REQUEST) or a parameter is (AGENT_INVALID_PARAMS).',
    codes: {
      GATEWAY_INVALID_REQUEST: 'the content type must be application/json',
      AGENT_INVALID_PARAMS: 'user_id: must be >= 1; name: is required',
    },
  },
  401: {
    component: 'Unauthorized',
    description: 'The API key is missing or wrong (GATEWAY_UNAUTHORIZED).',
    codes: {
      GATEWAY_UNAUTHORIZED: 'a valid API key is required: Authorization: Bearer <key>, or X-API-Key: <key>',
    },
    headers: {
      'WWW-Authenticate': { description: 'The accepted scheme.', schema: { type: 'string' } },
    },
  },
  403: {
    component: 'Forbidden',
    description:
      'The API key may not call this capability (GATEWAY_CAPABILITY_NOT_PERMITTED), or the source address is not allowed (GATEWAY_SOURCE_NOT_ALLOWED).',
    codes: {
      GATEWAY_CAPABILITY_NOT_PERMITTED: 'the API key may not call this capability',
      GATEWAY_SOURCE_NOT_ALLOWED: 'the source address is not allowed',
    },
  },
  404: {
    component: 'NotFound',
    description: 'The capability no longer exists (GATEWAY_CAPABILITY_NOT_FOUND).',
    codes: { GATEWAY_CAPABILITY_NOT_FOUND: 'no such capability' },
  },
  408: {
    component: 'RequestTimeout',
    description: 'The body did not arrive in time (GATEWAY_REQUEST_TIMEOUT).',
    codes: { GATEWAY_REQUEST_TIMEOUT: 'the body did not arrive in time' },
  },
  429: {
    component: 'TooManyRequests',
    description: 'Too many requests (GATEWAY_RATE_LIMITED).',
    codes: { GATEWAY_RATE_LIMITED: 'too many requests, slow down' },
    headers: retryAfter,
  },
  500: {
    component: 'InternalError',
    description: 'A fault of the gateway itself (GATEWAY_INTERNAL).',
    codes: { GATEWAY_INTERNAL: 'the gateway failed; the request id leads to its log' },
  },
  502: {
    component: 'BadGateway',
    description: 'The query failed (AGENT_QUERY_FAILED) or its result is too large (AGENT_RESULT_TOO_LARGE).',
    codes: {
      AGENT_QUERY_FAILED: 'the query could not be completed',
      AGENT_RESULT_TOO_LARGE: 'the result is larger than it may be, narrow the request',
    },
  },
  503: {
    component: 'Unavailable',
    description:
      'No agent is connected (GATEWAY_AGENT_OFFLINE), it is busy (AGENT_BUSY), or its database is not available (AGENT_DATABASE_UNAVAILABLE).',
    codes: {
      GATEWAY_AGENT_OFFLINE: 'agent is not connected',
      AGENT_BUSY: 'the agent has as many calls as it takes, try again shortly',
      AGENT_DATABASE_UNAVAILABLE: 'the database of the capability is not available, try again later',
    },
    headers: retryAfter,
  },
  504: {
    component: 'GatewayTimeout',
    description: 'The query took too long (AGENT_QUERY_TIMEOUT) or no answer came (GATEWAY_AGENT_TIMEOUT).',
    codes: {
      AGENT_QUERY_TIMEOUT: 'the query took longer than it may',
      GATEWAY_AGENT_TIMEOUT: 'the agent did not answer in time',
    },
  },
};

/** These replace some of the above if the agent asks who calls. */
const PRINCIPAL_FAILURES: Readonly<Record<string, Failure>> = {
  403: {
    component: 'Forbidden',
    description:
      'The caller may not call this capability (GATEWAY_CAPABILITY_NOT_PERMITTED), the agent does not accept who calls or the capability takes something from who calls that is missing (AGENT_PRINCIPAL_REFUSED), or the source address is not allowed (GATEWAY_SOURCE_NOT_ALLOWED).',
    codes: {
      GATEWAY_CAPABILITY_NOT_PERMITTED: 'the API key may not call this capability',
      AGENT_PRINCIPAL_REFUSED:
        'the agent does not accept who calls, or the capability takes something from who calls that is missing',
      GATEWAY_SOURCE_NOT_ALLOWED: 'the source address is not allowed',
    },
  },
};

/** References to the shared responses. */
export const errorResponses: Readonly<Record<string, unknown>> = Object.fromEntries(
  Object.entries(FAILURES).map(([status, { component }]) => [
    status,
    { $ref: `#/components/responses/${component}` },
  ]),
);

export function responseComponents(asksWhoCalls: boolean): Readonly<Record<string, unknown>> {
  const failures = Object.values(asksWhoCalls ? { ...FAILURES, ...PRINCIPAL_FAILURES } : FAILURES);
  return {
    // One for each status, so that a compiler can check that a client handles every code of a status.
    schemas: Object.fromEntries(
      failures.map(({ component, codes }) => [component, errorSchema(Object.keys(codes))]),
    ),
    headers: {
      RequestId: {
        description: 'Names this request in the log: the `X-Request-Id` of the request, or a new one.',
        schema: { type: 'string' },
      },
    },
    responses: Object.fromEntries(failures.map((failure) => [failure.component, errorResponse(failure)])),
  };
}

function errorResponse({
  component,
  description,
  codes,
  headers,
}: Failure): Readonly<Record<string, unknown>> {
  const schema = { $ref: `#/components/schemas/${component}` };
  const examples = Object.fromEntries(
    Object.entries(codes).map(([code, message]) => [code, { value: { error: { code, message } } }]),
  );
  const content = { 'application/json': { schema, examples } };
  return { description, headers: { ...responseHeaders, ...headers }, content };
}

function errorSchema(codes: readonly string[]): Readonly<Record<string, unknown>> {
  const error = {
    type: 'object',
    properties: {
      code: { type: 'string', enum: codes, description: 'Machine-readable code.' },
      message: { type: 'string', description: 'Text for people.' },
    },
    required: ['code', 'message'],
    additionalProperties: false,
  };
  return { type: 'object', properties: { error }, required: ['error'], additionalProperties: false };
}
