import type { Server } from 'node:http';
import type { Socket } from 'node:net';

const HINT_LESS_MS = 2000;

/**
 * Closes each connection on which nothing has come for `keepAliveMs` since its last answer. `Keep-Alive: timeout=` tells
 * callers two seconds less, so that a caller who keeps to it never finds the connection closed. What has arrived when
 * the time is up is answered first, and what comes later is read, so that the caller sees an end and no reset.
 */
export function closeIdleConnections(
  server: Server,
  keepAliveMs: number,
  isIdle: (socket: Socket) => boolean,
): void {
  // Node.js takes 0 for no time-out.
  server.keepAliveTimeout = Math.max(1, keepAliveMs - HINT_LESS_MS);
  /** How much had been read of a connection when its last wait began. */
  const readBefore = new WeakMap<Socket, number>();
  server.on('timeout', (socket: Socket) => {
    if (!isIdle(socket)) return;
    const { bytesRead, timeout = 0 } = socket;
    const leftMs = keepAliveMs - timeout;
    if (leftMs > 0 && readBefore.get(socket) !== bytesRead) {
      readBefore.set(socket, bytesRead);
      socket.setTimeout(leftMs);
      return;
    }
    // A request that the system holds already is read in this turn of the event loop, and answered.
    setImmediate(() => {
      if (isIdle(socket) && socket.bytesRead === bytesRead) socket.destroySoon();
    });
  });
}
