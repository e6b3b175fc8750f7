import { WEBSOCKET_SUBPROTOCOL } from '@svc/protocol';
import type { Exchange } from '../http/exchange.ts';
import type { AgentEndpoint } from './endpoint.ts';

/** 16 bytes in base64 (RFC 6455, section 4.1). */
const WEBSOCKET_KEY = /^[+/0-9A-Za-z]{22}==$/;

/** GET /ws/agent: only a WebSocket upgrade gets anywhere. */
export function createAgentUpgradeHandler(endpoint: AgentEndpoint): (exchange: Exchange) => void {
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
    const key = request.headers['sec-websocket-key'] ?? '';
    if (!WEBSOCKET_KEY.test(key) || request.headers['sec-websocket-version'] !== '13') {
      exchange.sendError('GATEWAY_INVALID_REQUEST', 'the WebSocket handshake is malformed');
      return;
    }
    const decision = endpoint.accept(exchange.sourceBucket);
    if (!decision.ok) {
      const message = 'too many connections are still to be authenticated';
      const headers = ['Retry-After', String(decision.retryAfterSeconds)];
      exchange.sendError('GATEWAY_RATE_LIMITED', message, headers);
      return;
    }
    exchange.switchedProtocols();
    const arrival = { source: log.source, peer: decision.peer };
    endpoint.upgrade(request, upgrade.socket, upgrade.head, arrival);
  };
}
