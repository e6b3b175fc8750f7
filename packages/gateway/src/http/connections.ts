import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { Turns } from './connection/turns.ts';
import type { Exchange } from './exchange.ts';
import { STALLED_CALLER_MS } from './response-writer.ts';

/** A request that has not been answered. */
interface PendingRequest {
  readonly response: ServerResponse;
  readonly exchange: Exchange;
}

interface Connection {
  /** In the order of their arrival; several with pipelining. */
  readonly pending: PendingRequest[];
  state: 'open' | 'ending';
}

/**
 * The connections of the HTTP server, and the requests on each that have not been answered.
 *
 * A connection is `open` while it takes requests. `add` alone moves it to `ending`, with the one request that is too
 * many: the answer to that is its last, and what comes behind is ignored. It never goes back. A connection that ends for
 * another reason is known by its socket, which is not writable any more.
 *
 * All of them together are `serving`, until `drain` moves them to `draining`: from then on each connection ends with the
 * last answer to what was sent over it.
 */
export interface Connections {
  /** Whether a request comes after the last answer of its connection, so that it gets no answer. */
  isBehindLast(socket: Socket): boolean;
  /** Returns its place among the unanswered requests of its connection, from 1 to one more than MAX_PIPELINED. */
  add(exchange: Exchange, response: ServerResponse): number;
  /** The unanswered requests of the connection, the oldest first. */
  pendingOn(socket: Duplex): readonly PendingRequest[];
  has(socket: Duplex): boolean;
  readonly inFlight: number;
  /** Returns the number of callers' connections. */
  drain(): number;
  answered(timeoutMs: number): Promise<void>;
}

/** A waiting request takes some hundred times the memory of its bytes. */
export const MAX_PIPELINED = 100;

/** How long a caller has to see the end of the last answer and to end its side. */
const LINGER_MS = 1000;
const NO_REQUESTS: readonly PendingRequest[] = [];

export function createConnections(turns: Turns): Connections {
  const connections = new WeakMap<Duplex, Connection>();
  const callers = new Set<Socket>();
  let state: 'serving' | 'draining' = 'serving';
  let inFlight = 0;
  let onAllAnswered: (() => void) | undefined;

  function connectionOf(socket: Socket): Connection {
    const known = connections.get(socket);
    if (known !== undefined) return known;
    const connection: Connection = { pending: [], state: 'open' };
    connections.set(socket, connection);
    const giveUp = (): void => {
      callers.delete(socket);
      // A copy, since each request leaves the list.
      for (const { response } of connection.pending.slice()) response.emit('close');
    };
    // Node tells only the first of several pipelined answers that their connection is gone. It closes once; what `once`
    // puts around a listener is 200 bytes that every idle connection would hold.
    socket.on('close', giveUp);
    lingerBeforeClose(socket, giveUp);
    return connection;
  }

  function end(connection: Connection, socket: Socket, response: ServerResponse): void {
    assertState(connection.state, 'open');
    connection.state = 'ending';
    // All earlier requests have begun by then; a caller that does not take their answers is cut off.
    turns.later(() => {
      setImmediate(() => {
        if (!response.writableFinished) socket.destroy();
      });
    });
  }

  return {
    isBehindLast: (socket) => connectionOf(socket).state === 'ending' || !socket.writable,
    add(exchange, response) {
      const { socket } = exchange.request;
      const connection = connectionOf(socket);
      const { pending } = connection;
      inFlight++;
      if (exchange.upgrade === undefined) callers.add(socket);
      const request = { response, exchange };
      const place = pending.push(request);
      response.on('close', () => {
        const at = pending.indexOf(request);
        if (at < 0) return;
        pending.splice(at, 1);
        inFlight--;
        exchange.closed();
        if (inFlight === 0) onAllAnswered?.();
      });
      if (place > MAX_PIPELINED) {
        response.setHeader('Connection', 'close');
        end(connection, socket, response);
      }
      if (state === 'draining') closeWithLast(pending);
      return place;
    },
    pendingOn: (socket) => connections.get(socket)?.pending ?? NO_REQUESTS,
    has: (socket) => connections.has(socket),
    get inFlight() {
      return inFlight;
    },
    drain() {
      assertState(state, 'serving');
      state = 'draining';
      for (const socket of callers) closeWithLast(connectionOf(socket).pending);
      return callers.size;
    },
    async answered(timeoutMs) {
      if (inFlight === 0) return;
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, timeoutMs);
        onAllAnswered = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    },
  };
}

/** A connection ends with the answer that says `close`, so only the last one under way may say it. */
function closeWithLast(pending: readonly PendingRequest[]): void {
  const last = pending.at(-1)?.response;
  for (const { response } of pending) {
    if (response !== last && !response.headersSent) response.removeHeader('Connection');
  }
  if (last?.headersSent === false) last.setHeader('Connection', 'close');
}

function assertState<State extends string>(state: State, expected: State): void {
  if (state !== expected) throw new Error(`the state is ${state} and should be ${expected}`);
}

/**
 * Ends a connection in two steps after its last answer (RFC 9112, section 9.6): what still comes is read and dropped for
 * a while, since closing with unread data resets the connection and loses answers that are on their way.
 * `onEnding` is called when nothing more will be sent.
 */
function lingerBeforeClose(socket: Socket, onEnding: () => void): void {
  // Node.js calls this after the last answer.
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
