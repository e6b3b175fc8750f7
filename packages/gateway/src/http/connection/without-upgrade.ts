import type { IncomingMessage, Server } from 'node:http';
import type { Socket } from 'node:net';

const HOP_BY_HOP = new Set(['upgrade', 'connection', 'http2-settings']);

export function isWebSocket(request: IncomingMessage): boolean {
  return request.headers.upgrade?.toLowerCase() === 'websocket';
}

/**
 * Settings of a server without TLS. From version 25 on, Node.js reads the body of an upgrade itself, so it must serve all
 * but WebSockets as plain requests. Older versions would lose what a client pipelines after such a request.
 */
export const WITHOUT_OTHER_UPGRADES: { readonly shouldUpgradeCallback?: typeof isWebSocket } =
  Number.parseInt(process.versions.node, 10) >= 25 ? { shouldUpgradeCallback: isWebSocket } : {};

/**
 * An offer to speak HTTP/2 may be ignored (RFC 9110, section 7.8), as Java's HttpClient expects. Up to Node.js 24 every
 * upgrade is handed over with its body unread, so the request is given back to the server without the offer.
 */
export function serveWithoutUpgrade(
  server: Server,
  request: IncomingMessage,
  socket: Socket,
  head: Buffer,
): void {
  // To HTTP/1.0 other rules apply: of the host, of the end of a body and of the connection.
  const lines = [`${request.method ?? ''} ${request.url ?? ''} HTTP/${request.httpVersion}`];
  const { rawHeaders } = request;
  for (let at = 0; at + 1 < rawHeaders.length; at += 2) {
    const name = rawHeaders[at] ?? '';
    if (!HOP_BY_HOP.has(name.toLowerCase())) lines.push(`${name}: ${rawHeaders[at + 1] ?? ''}`);
  }
  const options = (request.headers.connection ?? '').split(',').map((option) => option.trim());
  const kept = options.filter((option) => option !== '' && !HOP_BY_HOP.has(option.toLowerCase()));
  if (kept.length > 0) lines.push(`Connection: ${kept.join(', ')}`);
  socket.unshift(Buffer.concat([Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1'), head]));
  server.emit('connection', socket);
}
