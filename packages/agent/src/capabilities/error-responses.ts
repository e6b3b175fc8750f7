interface Failure {
  readonly component: string;
  readonly description: string;
  readonly headers?: Readonly<Record<string, unknown>>;
}

const retryAfter = {
  'Retry-After': {
    description: 'Seconds to wait before trying again.',
    schema: { type: 'integer', minimum: 0 },
  },
};

/** What a call can fail with, by HTTP status (specification 7, decisions section 5). */
const FAILURES: Readonly<Record<string, Failure>> = {
  400: {
    component: 'BadRequest',
    description: 'The body is refused (GATEWAY_INVALID_REQUEST) or a parameter is (AGENT_INVALID_PARAMS).',
  },
  401: {
    component: 'Unauthorized',
    description: 'The API key is missing or wrong (GATEWAY_UNAUTHORIZED).',
    headers: {
      'WWW-Authenticate': { description: 'The accepted scheme.', schema: { type: 'string' } },
    },
  },
  403: {
    component: 'Forbidden',
    description:
      'The API key may not call this capability (GATEWAY_CAPABILITY_NOT_PERMITTED), or the source address is not allowed (GATEWAY_SOURCE_NOT_ALLOWED).',
  },
  404: {
    component: 'NotFound',
    description: 'The capability no longer exists (GATEWAY_CAPABILITY_NOT_FOUND).',
  },
  408: {
    component: 'RequestTimeout',
    description: 'The body did not arrive in time (GATEWAY_REQUEST_TIMEOUT).',
  },
  429: {
    component: 'TooManyRequests',
    description: 'Too many requests (GATEWAY_RATE_LIMITED).',
    headers: retryAfter,
  },
  500: { component: 'InternalError', description: 'A fault of the gateway itself (GATEWAY_INTERNAL).' },
  502: {
    component: 'BadGateway',
    description: 'The query failed (AGENT_QUERY_FAILED) or its result is too large (AGENT_RESULT_TOO_LARGE).',
  },
  503: {
    component: 'Unavailable',
    description: 'No agent is connected (GATEWAY_AGENT_OFFLINE) or it is busy (AGENT_BUSY).',
    headers: retryAfter,
  },
  504: {
    component: 'GatewayTimeout',
    description: 'The query took too long (AGENT_QUERY_TIMEOUT) or no answer came (GATEWAY_AGENT_TIMEOUT).',
  },
};

/** References to the shared responses, for an operation. */
export const errorResponses: Readonly<Record<string, unknown>> = Object.fromEntries(
  Object.entries(FAILURES).map(([status, { component }]) => [
    status,
    { $ref: `#/components/responses/${component}` },
  ]),
);

/** The shared responses themselves, for the components. */
export const errorComponents: Readonly<Record<string, unknown>> = Object.fromEntries(
  Object.values(FAILURES).map(({ component, description, headers }) => [
    component,
    {
      description,
      ...(headers === undefined ? {} : { headers }),
      content: { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } },
    },
  ]),
);

export const errorSchema: Readonly<Record<string, unknown>> = {
  type: 'object',
  properties: {
    error: {
      type: 'object',
      properties: {
        code: { type: 'string', description: 'Machine-readable code.' },
        message: { type: 'string', description: 'Text for people.' },
      },
      required: ['code', 'message'],
      additionalProperties: false,
    },
  },
  required: ['error'],
  additionalProperties: false,
};
