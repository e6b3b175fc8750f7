import type { Exchange } from '../http/exchange.ts';
import type { AgentEndpoint } from './accept.ts';

/** GET /ws/agent: only a WebSocket upgrade gets anywhere. */
export function createAgentFace(endpoint: AgentEndpoint): (exchange: Exchange) => void {
  return (exchange) => {
    const { request, upgrade, log } = exchange;
    if (upgrade === undefined || request.headers.upgrade?.toLowerCase() !== 'websocket') {
      exchange.sendError('GATEWAY_UPGRADE_REQUIRED', 'agents connect here by WebSocket');
      return;
    }
    if (!endpoint.hasRoom(log.source)) {
      exchange.sendError('GATEWAY_RATE_LIMITED', 'too many connections are still to be authenticated');
      return;
    }
    exchange.switchedProtocols();
    endpoint.upgrade(request, upgrade.socket, upgrade.head, log.source);
  };
}
