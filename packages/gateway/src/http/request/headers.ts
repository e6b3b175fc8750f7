/** The request headers that decide anything, read from the raw list: Node itself drops or joins repeats. */
export interface RequestHeaders {
  readonly host: string | undefined;
  readonly authorization: string | undefined;
  readonly apiKey: string | undefined;
  readonly contentType: string | undefined;
  readonly contentLength: string | undefined;
  readonly contentEncoding: string | undefined;
  readonly transferEncoding: string | undefined;
  readonly requestId: string | undefined;
  readonly traceparent: string | undefined;
  readonly ifNoneMatch: string | undefined;
  readonly accept: string | undefined;
  readonly mcpProtocolVersion: string | undefined;
  readonly mcpMethod: string | undefined;
  readonly mcpName: string | undefined;
  readonly mcpSessionId: string | undefined;
  readonly origin: string | undefined;
  readonly accessControlRequestMethod: string | undefined;
  /** Lower-case names of those headers that came more than once; the first value is the one above. */
  readonly repeated: readonly string[];
}

type Field = Exclude<keyof RequestHeaders, 'repeated'>;

const FIELDS: ReadonlyMap<string, Field> = new Map([
  ['host', 'host'],
  ['authorization', 'authorization'],
  ['x-api-key', 'apiKey'],
  ['content-type', 'contentType'],
  ['content-length', 'contentLength'],
  ['content-encoding', 'contentEncoding'],
  ['transfer-encoding', 'transferEncoding'],
  ['x-request-id', 'requestId'],
  ['traceparent', 'traceparent'],
  ['if-none-match', 'ifNoneMatch'],
  ['accept', 'accept'],
  ['mcp-protocol-version', 'mcpProtocolVersion'],
  ['mcp-method', 'mcpMethod'],
  ['mcp-name', 'mcpName'],
  ['mcp-session-id', 'mcpSessionId'],
  ['origin', 'origin'],
  ['access-control-request-method', 'accessControlRequestMethod'],
]);

/** `raw` alternates names and values, as `IncomingMessage.rawHeaders` does. */
export function readRequestHeaders(raw: readonly string[]): RequestHeaders {
  const repeated: string[] = [];
  const headers: { -readonly [field in Field]: string | undefined } & Pick<RequestHeaders, 'repeated'> = {
    host: undefined,
    authorization: undefined,
    apiKey: undefined,
    contentType: undefined,
    contentLength: undefined,
    contentEncoding: undefined,
    transferEncoding: undefined,
    requestId: undefined,
    traceparent: undefined,
    ifNoneMatch: undefined,
    accept: undefined,
    mcpProtocolVersion: undefined,
    mcpMethod: undefined,
    mcpName: undefined,
    mcpSessionId: undefined,
    origin: undefined,
    accessControlRequestMethod: undefined,
    repeated,
  };
  for (let at = 0; at + 1 < raw.length; at += 2) {
    const name = (raw[at] ?? '').toLowerCase();
    const field = FIELDS.get(name);
    if (field === undefined) continue;
    if (headers[field] === undefined) headers[field] = raw[at + 1] ?? '';
    else repeated.push(name);
  }
  return headers;
}
