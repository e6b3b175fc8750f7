import type { CallEvent } from '../telemetry/events.ts';
import type { ShownCall } from './display.ts';
import type { GatewayRecord } from './start-gateway.ts';

/** Calls of which the gateway has not told yet; what it never tells of is forgotten. */
const MOST_OPEN = 1000;
/** Of no interest here: what asks whether the gateway lives, and the link of the agent itself. */
const UNSHOWN = /^\/(?:healthz|readyz|ws\/agent)$/;

/** Makes one of what gateway and agent say of a call: the agent speaks first. */
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
