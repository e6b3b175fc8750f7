import type { Socket } from 'node:net';
import { STALLED_CALLER_MS } from '../response-writer.ts';

/** How long a caller has to see the end of the last answer and to end its side. */
const LINGER_MS = 1000;

/**
 * Has the connection end in two steps once its last answer has left (RFC 9112, section 9.6): what still comes is read
 * and forgotten for a while. Closed with data unread it would be reset, and answers on their way to the caller lost.
 * `onEnding` is called when nothing more will be sent.
 */
export function lingerBeforeClose(socket: Socket, onEnding: () => void): void {
  // What Node's HTTP server calls then.
  socket.destroySoon = () => {
    if (!socket.writable) return;
    onEnding();
    let timer = setTimeout(() => socket.destroy(), STALLED_CALLER_MS);
    socket.once('close', () => clearTimeout(timer));
    socket.end(() => {
      clearTimeout(timer);
      timer = setTimeout(() => socket.destroy(), LINGER_MS);
    });
    socket.resume();
  };
}
