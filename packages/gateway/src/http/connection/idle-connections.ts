import type { Server } from 'node:http';
import type { Socket } from 'node:net';

/** So much less than the time that an idle connection is kept is what callers are told. */
const HINT_LESS_MS = 2000;

/**
 * Closes each connection on which nothing has come for `keepAliveMs` since its last answer. Callers are told of two
 * seconds less by `Keep-Alive: timeout=`, so that one who uses the connection until then meets no closed one. What has
 * arrived when the time is up is answered first, and what comes afterwards is read, so that the caller meets an end and
 * no reset.
 */
export function closeIdleConnections(
  server: Server,
  keepAliveMs: number,
  isIdle: (socket: Socket) => boolean,
): void {
  // Node takes 0 for no time-out at all, and tells whole seconds.
  server.keepAliveTimeout = Math.max(1, keepAliveMs - HINT_LESS_MS);
  /** What had been read of a connection when its time of idleness began to end. */
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
    // What the system holds already is read in this turn of the event loop: a request in it is answered.
    setImmediate(() => {
      if (isIdle(socket) && socket.bytesRead === bytesRead) socket.destroySoon();
    });
  });
}
