class Headers {
  host: string | undefined;
  authorization: string | undefined;
  apiKey: string | undefined;
  contentType: string | undefined;
  contentLength: string | undefined;
  contentEncoding: string | undefined;
  transferEncoding: string | undefined;
  requestId: string | undefined;
  traceparent: string | undefined;
  ifNoneMatch: string | undefined;
  accept: string | undefined;
  mcpProtocolVersion: string | undefined;
  mcpMethod: string | undefined;
  mcpName: string | undefined;
  mcpSessionId: string | undefined;
  origin: string | undefined;
  accessControlRequestMethod: string | undefined;
  /** Lower-case names of those headers that came more than once; the first value is the one above. */
  repeated: string[] = [];
}

/** The request headers that decide anything, read from the raw list: Node.js itself drops or joins repeats. */
export type RequestHeaders = Readonly<Omit<Headers, 'repeated'>> & { readonly repeated: readonly string[] };

type Field = Exclude<keyof Headers, 'repeated'>;

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
  const headers = new Headers();
  for (let at = 0; at + 1 < raw.length; at += 2) {
    const name = (raw[at] ?? '').toLowerCase();
    const field = FIELDS.get(name);
    if (field === undefined) continue;
    if (headers[field] === undefined) headers[field] = raw[at + 1] ?? '';
    else headers.repeated.push(name);
  }
  return headers;
}
