import { CALL_ERRORS } from '@svc/protocol';

/** The name of the response to each status. A code whose status is not listed here belongs to no described operation. */
const COMPONENTS: Readonly<Record<number, string>> = {
  400: 'BadRequest',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'NotFound',
  408: 'RequestTimeout',
  429: 'TooManyRequests',
  500: 'InternalError',
  502: 'BadGateway',
  503: 'Unavailable',
  504: 'GatewayTimeout',
};

const HEADERS: Readonly<Record<string, object>> = {
  'Retry-After': {
    description: 'Seconds to wait before trying again.',
    schema: { type: 'integer', minimum: 0 },
  },
  'WWW-Authenticate': { description: 'The accepted scheme.', schema: { type: 'string' } },
};

/** Headers of every response, for an operation. `X-Request-Id` lets a report name its record in the log. */
export const responseHeaders: Readonly<Record<string, unknown>> = {
  'X-Request-Id': { $ref: '#/components/headers/RequestId' },
};

/** References to the shared responses, for an operation. */
export const errorResponses: Readonly<Record<string, unknown>> = Object.fromEntries(
  Object.entries(COMPONENTS).map(([status, component]) => [
    status,
    { $ref: `#/components/responses/${component}` },
  ]),
);

/** What the responses refer to. */
export function responseComponents(asksWhoCalls: boolean): Readonly<Record<string, unknown>> {
  const failures = Object.entries(COMPONENTS).map(([status, component]) => ({
    component,
    ...describe(Number(status), asksWhoCalls),
  }));
  return {
    // One for each status: a client that handles every code of a status can have its compiler say so.
    schemas: Object.fromEntries(
      failures.map(({ component, examples }) => [component, errorSchema(Object.keys(examples))]),
    ),
    headers: {
      RequestId: {
        description: 'Names this request in the log: the `X-Request-Id` of the request, or a new one.',
        schema: { type: 'string' },
      },
    },
    responses: Object.fromEntries(
      failures.map(({ component, description, examples, headers }) => [
        component,
        {
          description,
          headers: { ...responseHeaders, ...headers },
          content: {
            'application/json': { schema: { $ref: `#/components/schemas/${component}` }, examples },
          },
        },
      ]),
    ),
  };
}

/** What the table of errors says of the codes of a status. */
function describe(
  status: number,
  asksWhoCalls: boolean,
): { readonly description: string; readonly examples: object; readonly headers: object } {
  const errors = Object.entries(CALL_ERRORS).flatMap(([code, terms]) => {
    const clause = (asksWhoCalls ? terms.clauseWithIdentity : undefined) ?? terms.clause;
    return terms.status === status && clause !== undefined ? [{ ...terms, code, clause }] : [];
  });
  const clauses = errors.map(({ code, clause }) => `${clause} (${code})`);
  const last = clauses.pop() ?? '';
  const or = clauses.length > 1 || status === 403 ? ', or ' : ' or ';
  const sentence = clauses.length === 0 ? last : `${clauses.join(', ')}${or}${last}`;
  const names = new Set(errors.flatMap(({ headers = [] }) => headers));
  return {
    description: `${sentence.charAt(0).toUpperCase()}${sentence.slice(1)}.`,
    examples: Object.fromEntries(
      errors.map(({ code, text, example = text }) => [
        code,
        { value: { error: { code, message: example } } },
      ]),
    ),
    headers: Object.fromEntries(Object.entries(HEADERS).filter(([name]) => names.has(name))),
  };
}

function errorSchema(codes: readonly string[]): Readonly<Record<string, unknown>> {
  return {
    type: 'object',
    properties: {
      error: {
        type: 'object',
        properties: {
          code: { type: 'string', enum: codes, description: 'Machine-readable code.' },
          message: { type: 'string', description: 'Text for people.' },
        },
        required: ['code', 'message'],
        additionalProperties: false,
      },
    },
    required: ['error'],
    additionalProperties: false,
  };
}
