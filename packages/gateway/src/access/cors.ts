interface CorsHeaders {
  readonly origin: string | undefined;
  readonly accessControlRequestMethod: string | undefined;
  readonly repeated: readonly string[];
}

/** What pages of other origins may do. Keys travel in headers, so the browser's credentials mode is not used. */
export interface Cors {
  /** For every answer: names and values in turn. */
  readonly answerHeaders: (headers: CorsHeaders) => readonly string[];
  /** For the answer to a preflight, beside `answerHeaders`; undefined when the request is no allowed preflight. */
  readonly preflightHeaders: (
    headers: CorsHeaders,
    methods: readonly string[],
  ) => readonly string[] | undefined;
}

/** What the APIs read, and what MCP clients and tracing libraries send along. */
const ALLOWED_HEADERS = [
  'authorization',
  'x-api-key',
  'content-type',
  'accept',
  'if-none-match',
  'x-request-id',
  'traceparent',
  'mcp-protocol-version',
  'mcp-method',
  'mcp-name',
  'mcp-session-id',
  'last-event-id',
].join(', ');
const EXPOSED_HEADERS = 'X-Request-Id, Retry-After, ETag, WWW-Authenticate, Mcp-Session-Id';
/** Chromium keeps it no longer. */
const MAX_AGE_SECONDS = '7200';

/** Without it, a cache could hand an answer made for one origin, or for none, to a page of another. */
const VARY: readonly string[] = ['Vary', 'Origin'];

/** Compares origins as text, as browsers send them. Undefined when none is configured: then no answer mentions CORS. */
export function createCors(origins: readonly string[] | '*'): Cors | undefined {
  if (origins.length === 0) return undefined;
  const answers = new Map(origins === '*' ? [] : origins.map((origin) => [origin, allowing(origin)]));
  const answerToAny = origins === '*' ? allowing('*') : undefined;

  function allowed({ origin, repeated }: CorsHeaders): readonly string[] | undefined {
    if (origin === undefined || repeated.includes('origin')) return undefined;
    return answerToAny ?? answers.get(origin);
  }
  return {
    answerHeaders: (headers) => allowed(headers) ?? VARY,
    preflightHeaders: (headers, methods) =>
      headers.accessControlRequestMethod === undefined || allowed(headers) === undefined
        ? undefined
        : preflight(methods),
  };
}

/** Pages of every origin may read where a login begins, whatever is configured. */
export const ANY_PAGE_MAY_READ: Cors = {
  answerHeaders: () => ['Access-Control-Allow-Origin', '*'],
  preflightHeaders: (_headers, methods) => preflight(methods),
};

function preflight(methods: readonly string[]): readonly string[] {
  return [
    'Access-Control-Allow-Methods',
    methods.join(', '),
    'Access-Control-Allow-Headers',
    ALLOWED_HEADERS,
    'Access-Control-Max-Age',
    MAX_AGE_SECONDS,
  ];
}

function allowing(origin: string): readonly string[] {
  return [...VARY, 'Access-Control-Allow-Origin', origin, 'Access-Control-Expose-Headers', EXPOSED_HEADERS];
}
