import type { RequestEvent } from './events.ts';

/** How a message of MCP has ended, where it did not end well. */
export type McpFailure =
  /** A result that says so. */
  'tool_error' | number;

/**
 * What OpenTelemetry's conventions for MCP call a message. They are in development, and their names still change: none of
 * them stands anywhere else.
 */
export function mcpSpan(
  { mcp_method: method = '', capability }: RequestEvent,
  failure: McpFailure | undefined,
  protocolVersion: string | undefined,
): { readonly name: string; readonly attributes: Readonly<Record<string, string>> } {
  const attributes: Record<string, string> = { 'mcp.method.name': method };
  if (protocolVersion !== undefined) attributes['mcp.protocol.version'] = protocolVersion;
  if (method === 'tools/call') attributes['gen_ai.operation.name'] = 'execute_tool';
  if (capability !== '') attributes['gen_ai.tool.name'] = capability;
  if (failure !== undefined) attributes['error.type'] = String(failure);
  if (typeof failure === 'number') attributes['rpc.response.status_code'] = String(failure);
  return { name: capability === '' ? method : `${method} ${capability}`, attributes };
}
