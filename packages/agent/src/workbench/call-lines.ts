import type { CallEvent } from '../telemetry/events.ts';
import type { ShownCall } from './display.ts';
import type { GatewayRecord } from './start-gateway.ts';

/** The oldest calls that the gateway has not reported are forgotten. */
const MOST_OPEN = 1000;
/** Probes of the gateway, and the link of the agent. */
const UNSHOWN = /^\/(?:healthz|readyz|ws\/agent)$/;

/** Joins what agent and gateway report of a call; the agent reports first. */
export function createCallLines(show: (call: ShownCall) => void): {
  ofAgent(event: CallEvent): void;
  ofGateway(record: GatewayRecord): void;
} {
  const open = new Map<string, CallEvent>();
  return {
    ofAgent(event) {
      open.set(event.request_id, event);
      const [oldest] = open.keys();
      if (open.size > MOST_OPEN && oldest !== undefined) open.delete(oldest);
    },
    ofGateway(record) {
      const { event, route, method, mcp_method: mcpMethod, capability } = record;
      if (event !== 'request' || UNSHOWN.test(String(route))) return;
      const requestId = String(record['request_id']);
      const ran = open.get(requestId);
      open.delete(requestId);
      const asked = typeof mcpMethod === 'string' ? `MCP ${mcpMethod}` : `${String(method)} ${String(route)}`;
      show({
        requestId,
        name: capability === '' ? asked : String(capability),
        status: Number(record['http_status']),
        durationMs: Number(record['duration_ms']),
        errorCode: String(record['error_code']),
        rows: ran?.rows,
        bytes: ran?.bytes,
        detail: ran?.detail,
      });
    },
  };
}
