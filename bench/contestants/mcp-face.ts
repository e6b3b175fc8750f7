import { QUERIES } from './books.ts';
import type { Face } from './contestant.ts';

export const REVISIONS = ['2025-11-25', '2026-07-28'] as const;
export type Revision = (typeof REVISIONS)[number];

const META = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientCapabilities': {},
  'io.modelcontextprotocol/clientInfo': { name: 'bench', version: '1.0.0' },
};

/** `tools/call` without a session, as both revisions allow it. */
export function mcpFace(
  revision: Revision,
  headers: Readonly<Record<string, string>>,
  rows: (texts: readonly string[]) => readonly unknown[],
): Face {
  const isStateless = revision === '2026-07-28';
  return {
    kind: 'mcp',
    title: `MCP ${revision}`,
    path: () => '/mcp',
    headers: (query) => ({
      ...headers,
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': revision,
      ...(isStateless ? { 'mcp-method': 'tools/call', 'mcp-name': QUERIES[query].name } : {}),
    }),
    body: (query, value) => {
      const { name, parameter } = QUERIES[query];
      const params = { name, arguments: { [parameter]: value } };
      return JSON.stringify({
        jsonrpc: '2.0',
        id: value,
        method: 'tools/call',
        params: isStateless ? { _meta: META, ...params } : params,
      });
    },
    rows: (answer) => {
      const { result }: { result: { content: readonly { text: string }[] } } = JSON.parse(answer);
      return rows(result.content.map(({ text }) => text));
    },
  };
}
