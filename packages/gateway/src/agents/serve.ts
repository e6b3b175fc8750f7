import { WEBSOCKET_SUBPROTOCOL } from '@svc/protocol';
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
    const offered = request.headers['sec-websocket-protocol']?.split(',').map((name) => name.trim());
    if (offered?.includes(WEBSOCKET_SUBPROTOCOL) !== true) {
      exchange.sendError(
        'GATEWAY_INVALID_REQUEST',
        `agents must offer the subprotocol ${WEBSOCKET_SUBPROTOCOL}`,
      );
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
