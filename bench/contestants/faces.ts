import { QUERIES } from './books.ts';
import type { Face } from './contestant.ts';

export const REVISIONS = ['2025-11-25', '2026-07-28'] as const;
type Revision = (typeof REVISIONS)[number];

const META = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientCapabilities': {},
  'io.modelcontextprotocol/clientInfo': { name: 'bench', version: '1.0.0' },
};

/** A POST of the parameter as JSON to a path made from the query's name. */
export function restFace(
  path: (name: string) => string,
  headers: Readonly<Record<string, string>>,
  rows: Face['rows'],
): Face {
  return {
    kind: 'rest',
    title: 'REST',
    path: (query) => path(QUERIES[query].name),
    headers: () => ({ ...headers, 'content-type': 'application/json' }),
    body: (query, value) => JSON.stringify({ [QUERIES[query].parameter]: value }),
    rows,
  };
}

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

/** The rows of an answer that is an object with the member `rows`. */
export function rowsMember(answer: string): readonly unknown[] {
  const { rows }: { rows: readonly unknown[] } = JSON.parse(answer);
  return rows;
}
