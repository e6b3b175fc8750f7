import type { ExampleCall } from './example-call.ts';

/** For a shell. */
export function curlCommand(url: string, apiKey: string, { capability, params }: ExampleCall): string {
  const body = JSON.stringify(params).replaceAll("'", '\\u0027');
  return `curl -sS ${url}/api/v1/capabilities/${capability} -H 'Authorization: Bearer ${apiKey}' -H 'Content-Type: application/json' -d '${body}'`;
}

/** What an MCP client has in its configuration. */
export function clientConfiguration(url: string, apiKey: string): object {
  const headers = { Authorization: `Bearer ${apiKey}` };
  return { mcpServers: { dev: { type: 'http', url: `${url}/mcp`, headers } } };
}
