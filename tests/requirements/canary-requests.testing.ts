import type { MarkedService } from './canary-service.testing.ts';

const READ = '/api/v1/capabilities/read HTTP/1.1';

/** Requests without a body that the gateway refuses or answers itself, marked wherever a caller can say something. */
export function refusedHeads(
  secrets: MarkedService,
  apiKeys: Readonly<Record<string, string>>,
): readonly (readonly string[])[] {
  const value = (): string => secrets.mark('value');
  const { all = '', reader = '' } = apiKeys;
  const bearer = `Authorization: Bearer ${all}`;
  const knownId = all.slice(0, all.lastIndexOf('_'));
  const wrong = [
    `${knownId}_${secrets.mark('api_key')}`,
    secrets.mark('api_key'),
    `${secrets.mark('api_key')} é`,
  ];
  return [
    ...wrong.map((key) => [`POST ${READ}`, `Authorization: Bearer ${key}`]),
    ...wrong.map((key) => [`POST ${READ}`, `X-API-Key: ${key}`]),
    [`POST ${READ}`, `Authorization: Basic ${Buffer.from(`u:${value()}`).toString('base64')}`],
    [`POST ${READ}`, bearer, `X-API-Key: ${secrets.mark('api_key')}`],
    ['POST /api/v1/capabilities/divide HTTP/1.1', `X-API-Key: ${reader}`],
    [`GET /${value()}?key=${value()} HTTP/1.1`],
    [`GET /openapi.json?api_key=${value()} HTTP/1.1`, bearer, `If-None-Match: "${value()}"`],
    [`DELETE ${READ}`, `X-Request-Id: not ${value()} fit`],
    [`${value().toUpperCase()} ${READ}`],
    ['GET /healthz HTTP/1.1', `User-Agent: ${value()}`, `Cookie: a=${value()}`, `Origin: https://${value()}`],
    [`GET /ws/agent?token=${value()} HTTP/1.1`, `Sec-WebSocket-Protocol: ${value()}`],
    [
      `GET /ws/agent?token=${value()} HTTP/1.1`,
      'Upgrade: websocket',
      'Sec-WebSocket-Version: 13',
      `Sec-WebSocket-Key: ${value()}`,
      `Sec-WebSocket-Protocol: ${value()}`,
    ],
    ['GET /healthz HTTP/1.1', 'X-Forwarded-For: 203.0.113.9'],
    ['GET /healthz HTTP/1.1', `X-Forwarded-For: ${value()}`],
    ['GET /healthz HTTP/1.1', `Broken ${value()}`],
    [`GET ${value()} HTTP/1.1`],
    ['GET /healthz HTTP/1.1', `Transfer-Encoding: ${value()}`],
  ];
}

/** Bodies that the gateway refuses; the last is never sent whole. */
export function refusedBodies(
  secrets: MarkedService,
): readonly { readonly body: string; readonly headers?: readonly string[] }[] {
  const value = (): string => secrets.mark('value');
  const fine = (): string => `{"text": "${value()}"}`;
  return [
    { body: `{"text": "${value()}"` },
    { body: `{"text": ${value()}}` },
    { body: `${fine()} ${fine()}` },
    { body: `["${value()}"]` },
    { body: `"${value()}"` },
    { body: `{"text": "a", "text": "${value()}"}` },
    { body: `{"__proto__": {"a": "${value()}"}}` },
    { body: `{"text": "\\ud800${value()}"}` },
    { body: `{"a": ${'['.repeat(40)}"${value()}"${']'.repeat(40)}}` },
    { body: `{"text": "${value().repeat(1500)}"}` },
    { body: fine(), headers: [`Content-Type: text/${value()}`] },
    { body: fine(), headers: [`Content-Type: application/json; charset=${value()}`] },
    { body: fine(), headers: [`Content-Encoding: ${value()}`] },
    { body: fine(), headers: ['Content-Length: 9000'] },
  ];
}

interface McpMessage {
  readonly method: string;
  readonly params: Readonly<Record<string, unknown>>;
  readonly headers?: readonly string[];
}

/** What MCP answers and refuses. Not marked is what it must echo: ids, revisions, names with the form of a tool's. */
export function mcpMessages(
  value: () => string,
  typed: { readonly id: string; readonly whole: number },
): readonly McpMessage[] {
  const tool = (name: string, args: unknown): McpMessage => ({
    method: 'tools/call',
    params: { name, arguments: args },
  });
  const meta = (version: unknown): Readonly<Record<string, unknown>> => ({
    _meta: {
      'io.modelcontextprotocol/protocolVersion': version,
      'io.modelcontextprotocol/clientInfo': { name: value(), version: value() },
      'io.modelcontextprotocol/clientCapabilities': { [value()]: {} },
    },
  });
  const stateless = 'MCP-Protocol-Version: 2026-07-28';
  return [
    tool('read', {}),
    tool('take_all', { text: value(), list: [value()], document: { [value()]: value() }, ...typed }),
    ...['text', 'list', 'document', 'mail', 'id', 'whole', 'day', 'choice', 'coded'].map((name) =>
      tool('take_all', { text: value(), [name]: [value(), { a: value() }] }),
    ),
    tool('take_all', { [`No name ${value()}`]: value() }),
    ...['cast_parameter', 'raise', 'domain', 'document', 'zone', 'large', 'slow'].map((name) =>
      tool(name, { text: value() }),
    ),
    tool('expression', { text: `(${value()}` }),
    tool('divide', {}),
    tool(`Not a name ${value()}`, {}),
    tool('read', [value()]),
    { method: 'tools/call', params: { name: [value()] } },
    { method: 'tools/list', params: { cursor: value() } },
    { method: 'tools/list', params: { ...meta([value()]) } },
    { method: value(), params: {} },
    { method: 'initialize', params: { protocolVersion: value(), clientInfo: { name: value() } } },
    { method: 'ping', params: {}, headers: [`Mcp-Session-Id: ${value()}`, `Last-Event-ID: ${value()}`] },
    { method: 'ping', params: {}, headers: [`Accept: text/event-stream; ${value()}`] },
    { method: 'ping', params: {}, headers: [`Origin: https://${value()}.example`] },
    { method: 'tools/list', params: meta('2026-07-28'), headers: [stateless, `Mcp-Method: ${value()}`] },
    {
      method: 'tools/call',
      params: { ...meta('2026-07-28'), name: 'read' },
      headers: [stateless, 'Mcp-Method: tools/call', `Mcp-Name: ${value()}`],
    },
    {
      method: 'tools/call',
      params: { ...meta('2026-07-28'), name: 'divide', arguments: {} },
      headers: [stateless, 'Mcp-Method: tools/call', 'Mcp-Name: divide'],
    },
  ];
}
