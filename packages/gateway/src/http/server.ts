import {
  createServer,
  ServerResponse,
  type IncomingMessage,
  type RequestListener,
  type Server,
} from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { Server as TcpServer, Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { setTimeout as wait } from 'node:timers/promises';
import { CallerGone } from '../calls/call-error.ts';
import type { Observe } from '../telemetry/events.ts';
import { createAdmit } from '../access/source-policy.ts';
import type { Cors } from '../access/cors.ts';
import { openExchange, type Exchange } from './exchange.ts';
import { lingerBeforeClose } from './connection/lingering-close.ts';
import type { RateLimiter } from '../access/rate-limit.ts';
import { findRoute, type Route } from './routes.ts';
import type { ResolveSource } from '../network/client-address.ts';
import { createTurns } from './connection/turns.ts';
import { createRefuseUnparsable, parserFault } from './connection/unparsable.ts';
import { isWebSocket, serveWithoutUpgrade, WITHOUT_OTHER_UPGRADES } from './connection/without-upgrade.ts';

/** What stands behind each kind of route; a rejection becomes the answer. */
export interface Faces {
  call(exchange: Exchange, capability: string): Promise<void>;
  mcp(exchange: Exchange): Promise<void>;
  openapi(exchange: Exchange): Promise<void>;
  health(exchange: Exchange): void;
  ready(exchange: Exchange): void;
  agent(exchange: Exchange): void;
}

export interface ServerOptions {
  readonly faces: Faces;
  readonly resolveSource: ResolveSource;
  readonly rateLimiter: RateLimiter | undefined;
  /** Undefined when pages of no other origin may call. */
  readonly cors: Cors | undefined;
  readonly tls: { readonly cert: string; readonly key: string } | undefined;
  readonly bodyReadTimeoutMs: number;
  readonly observe: Observe;
  readonly now: () => number;
}

/** A request that has not been answered. */
interface Asked {
  readonly response: ServerResponse;
  readonly exchange: Exchange;
}

interface Connection {
  /** Several with pipelining. */
  readonly asked: Asked[];
  /** Its last answer is under way: what came behind it is nobody's. */
  ending: boolean;
}

export interface GatewayServer {
  readonly server: Server;
  /** Requests accepted and not answered. */
  readonly inFlight: number;
  /**
   * Accepts no further connection; resolves when every accepted request is answered or the time is up. Connections
   * that callers kept are served for half a second at least, and end with their next answer.
   */
  drain(timeoutMs: number): Promise<void>;
  /** Resolves when every accepted request is answered or the time is up. */
  answered(timeoutMs: number): Promise<void>;
}

const HEADERS_TIMEOUT_MS = 10_000;
const MAX_HEADER_BYTES = 16_384;
/** Far above what a gateway serves at once; keeps a flood from taking every file descriptor. */
const MAX_CONNECTIONS = 20_000;
const KEEP_ALIVE_MS = 65_000;
/** Requests that may wait on one connection: each takes some hundred times the memory that it was sent in. */
const MAX_PIPELINED = 100;
/** A request that was on its way when the shutdown began is answered and not met by a closed connection. */
const LAST_REQUESTS_MS = 500;

/** docs/reference/http.md promises callers the order of the checks. */
export function createGatewayServer(options: ServerOptions): GatewayServer {
  const { faces } = options;
  const admit = createAdmit(options);
  const refuseUnparsable = createRefuseUnparsable(admit, options.observe);
  const turns = createTurns(options.now);
  let open = 0;
  const connections = new WeakMap<Duplex, Connection>();
  /** Connections over which a request came, agents' apart. */
  const callers = new Set<Socket>();
  let draining = false;
  let idle: (() => void) | undefined;

  function accept(request: IncomingMessage, response: ServerResponse, upgrade: Exchange['upgrade']): void {
    const connection = track(request.socket);
    // Node hands over what is left of a read behind the last answer too, and out of turn: an answer to it would be
    // taken for that of a request before it.
    if (connection.ending || !request.socket.writable) {
      request.resume();
      return;
    }
    const siblings = connection.asked;
    open++;
    if (upgrade === undefined) callers.add(request.socket);
    const further = siblings.length >= MAX_PIPELINED;
    if (further) response.setHeader('Connection', 'close');
    const exchange = openExchange(request, response, upgrade, options);
    const asked = { response, exchange };
    siblings.push(asked);
    response.on('close', () => {
      const at = siblings.indexOf(asked);
      if (at < 0) return;
      siblings.splice(at, 1);
      open--;
      exchange.closed();
      if (open === 0) idle?.();
    });
    if (draining) closeWithLast(siblings);
    connection.ending = further;
    void serve(exchange, siblings.length);
    if (!further) return;
    // All before it have begun by then: whoever does not take their answers has no claim to that memory.
    turns.later(() => {
      setImmediate(() => {
        if (!response.writableFinished) request.socket.destroy();
      });
    });
  }

  function track(socket: Socket): Connection {
    const known = connections.get(socket);
    if (known !== undefined) return known;
    const connection: Connection = { asked: [], ending: false };
    connections.set(socket, connection);
    const giveUp = (): void => {
      callers.delete(socket);
      // Each leaves the list meanwhile.
      for (const { response } of connection.asked.slice()) response.emit('close');
    };
    // Node tells only the first of several pipelined answers that their connection is gone.
    socket.once('close', giveUp);
    lingerBeforeClose(socket, giveUp);
    return connection;
  }

  /** `place` is 1 where no other waits on its connection. */
  async function serve(exchange: Exchange, place: number): Promise<void> {
    try {
      const route = admitted(exchange, place > MAX_PIPELINED);
      if (route === undefined) return;
      // One connection may bring more in one read than it is fair to make the others wait for.
      if (place > 1) await new Promise<void>(turns.later);
      if (!exchange.signal.aborted) await face(exchange, route);
    } catch (error) {
      exchange.fail(error);
    }
  }

  /** Where the request leads; undefined when it has been answered. */
  function admitted(exchange: Exchange, further: boolean): Route | undefined {
    const { request } = exchange;
    const { remoteAddress } = request.socket;
    if (remoteAddress === undefined) {
      // Reset before anybody could ask who it was.
      request.socket.destroy();
      throw new CallerGone();
    }
    const { address, bucket, refusal } = admit(remoteAddress, request.rawHeaders);
    exchange.log.source = address;
    exchange.sourceBucket = bucket;
    if (refusal !== undefined) {
      exchange.sendError(refusal.code, refusal.message, refusal.headers);
      return undefined;
    }
    if (further) {
      exchange.sendError(
        'GATEWAY_RATE_LIMITED',
        'too many requests wait on this connection: send the next after an answer',
      );
      return undefined;
    }
    if (!request.httpVersion.startsWith('1.')) {
      exchange.sendError('GATEWAY_INVALID_REQUEST', 'the version must be HTTP/1.1');
      return undefined;
    }
    const { host, transferEncoding, repeated } = exchange.headers;
    if (repeated.includes('host') || (host === undefined && request.httpVersion === '1.1')) {
      exchange.sendError('GATEWAY_INVALID_REQUEST', 'the request must name one host');
      return undefined;
    }
    // Who is in front of us may see another end of the body: to HTTP/1.0 this header means nothing.
    if (
      transferEncoding !== undefined &&
      (transferEncoding.toLowerCase() !== 'chunked' ||
        request.httpVersion === '1.0' ||
        repeated.includes('transfer-encoding'))
    ) {
      exchange.sendError('GATEWAY_INVALID_REQUEST', 'the transfer encoding is not supported');
      return undefined;
    }
    const target = request.url ?? '';
    if (!target.startsWith('/')) {
      exchange.sendError('GATEWAY_INVALID_REQUEST', 'the request target must be a path');
      return undefined;
    }
    const route = findRoute(target);
    if (route === undefined) {
      exchange.sendError(
        'GATEWAY_NOT_FOUND',
        'no such path: calls are at /api/v1/capabilities/{name}, MCP is at /mcp',
      );
      return undefined;
    }
    exchange.log.route = route.template;
    if (request.method === 'OPTIONS') {
      const preflight = options.cors?.preflightHeaders(exchange.headers, route.methods);
      if (preflight !== undefined) {
        exchange.send(204, preflight, []);
        return undefined;
      }
    }
    if (!route.methods.includes(request.method ?? '')) {
      exchange.sendError(
        'GATEWAY_METHOD_NOT_ALLOWED',
        'the method is not allowed here: use one that Allow lists',
        ['Allow', route.methods.join(', ')],
      );
      return undefined;
    }
    return route;
  }

  function face(exchange: Exchange, route: Route): Promise<void> | void {
    if (exchange.upgrade !== undefined && route.kind !== 'agent') {
      exchange.sendError('GATEWAY_INVALID_REQUEST', 'this path does not upgrade');
      return;
    }
    switch (route.kind) {
      case 'call':
        return faces.call(exchange, route.capability);
      case 'mcp':
        return faces.mcp(exchange);
      case 'openapi':
        return faces.openapi(exchange);
      case 'health':
        return faces.health(exchange);
      case 'ready':
        return faces.ready(exchange);
      case 'agent':
        return faces.agent(exchange);
    }
  }

  const onRequest: RequestListener = (request, response) => accept(request, response, undefined);
  const settings = {
    maxHeaderSize: MAX_HEADER_BYTES,
    // Checked by us: Node's own answer is no JSON.
    requireHostHeader: false,
    headersTimeout: HEADERS_TIMEOUT_MS,
    // Ours answers first, with the error's own body; this one stands behind it.
    requestTimeout: HEADERS_TIMEOUT_MS + 2 * options.bodyReadTimeoutMs,
    connectionsCheckingInterval: 1000,
    keepAliveTimeout: KEEP_ALIVE_MS,
    noDelay: true,
    handshakeTimeout: HEADERS_TIMEOUT_MS,
    ...(options.tls === undefined ? WITHOUT_OTHER_UPGRADES : {}),
  };
  const server =
    options.tls === undefined
      ? createServer(settings, onRequest)
      : createTlsServer({ ...settings, ...options.tls }, onRequest);
  // Past a count Node drops headers in silence, also from rawHeaders; the bound on their bytes is enough.
  server.maxHeadersCount = 0;
  server.maxConnections = MAX_CONNECTIONS;
  // Node remembers the address once it was asked for; after a reset nobody knows it.
  server.on(options.tls === undefined ? 'connection' : 'secureConnection', readAddress);
  server.on('checkContinue', (request: IncomingMessage, response: ServerResponse) => {
    const goOn = (): void => {
      if (!response.headersSent) response.writeContinue();
    };
    request.once('newListener', (event) => {
      // Only asked for once somebody wants the body, which is after authentication.
      if (event !== 'data') return;
      // Behind others on its connection it has to wait for the end of the answers to those.
      if (response.socket === null) response.once('socket', goOn);
      else goOn();
    });
    accept(request, response, undefined);
  });
  // Any other expectation may be ignored (RFC 9110, section 10.1.1); Node's own answer is no JSON.
  server.on('checkExpectation', onRequest);
  /** Whether a request that Node hands over with its connection is pipelined behind one whose answer has that. */
  function outOfTurn(socket: Socket): boolean {
    if (!socket.listeners('error').includes(destroyOnError)) socket.on('error', destroyOnError);
    if (!socket.writable) {
      // It comes behind the last answer.
      socket.resume();
      return true;
    }
    const [before, ...others] = connections.get(socket)?.asked ?? [];
    if (before === undefined) return false;
    if (others.length === 0 && before.response.writableEnded) socket.destroySoon();
    else socket.destroy();
    return true;
  }

  /** With a response of our own it is answered and refused as any other. */
  function acceptHandedOver(request: IncomingMessage, socket: Socket, upgrade: Exchange['upgrade']): void {
    const response = new ServerResponse(request);
    response.shouldKeepAlive = false;
    response.assignSocket(socket);
    response.once('finish', () => socket.destroySoon());
    socket.once('timeout', () => socket.destroy());
    accept(request, response, upgrade);
  }

  server.on('upgrade', (request: IncomingMessage, socket: Socket, head: Buffer) => {
    if (outOfTurn(socket)) return;
    if (options.tls === undefined && !isWebSocket(request)) {
      serveWithoutUpgrade(server, request, socket, head);
    } else acceptHandedOver(request, socket, { socket, head });
  });
  // Refused like every target that is no path.
  server.on('connect', (request: IncomingMessage, socket: Socket) => {
    if (!outOfTurn(socket)) acceptHandedOver(request, socket, undefined);
  });
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Duplex) => {
    // Behind the last answer whatever comes is forgotten.
    if (connections.has(socket) && !socket.writable) return;
    const fault = parserFault(error);
    const [asked, ...others] = connections.get(socket)?.asked ?? [];
    // What comes behind "Connection: close" is nobody's; the answer that ends the connection is still to come.
    if (error.code === 'HPE_CLOSED_CONNECTION' && asked !== undefined) return;
    if (fault === undefined) socket.destroy();
    else if (asked === undefined) refuseUnparsable(fault, socket);
    else if (asked.response.headersSent) endAfterWritten(socket);
    else if (asked.response.req.complete || others.length > 0 || error.code === 'HPE_INVALID_EOF_STATE') {
      // Our refusal would be taken for the answer to the request before it, or nobody is left to read it.
      socket.destroy();
    } else asked.exchange.sendError(fault.code, fault.message, ['Connection', 'close']);
  });

  return {
    server,
    get inFlight() {
      return open;
    },
    async drain(timeoutMs) {
      draining = true;
      for (const socket of callers) closeWithLast(track(socket).asked);
      // What HTTP adds to closing is the end of all kept connections, whatever is on its way there.
      TcpServer.prototype.close.call(server);
      const lingerMs = callers.size === 0 ? 0 : Math.min(LAST_REQUESTS_MS, timeoutMs);
      await wait(lingerMs);
      await answered(timeoutMs - lingerMs);
    },
    answered,
  };

  async function answered(timeoutMs: number): Promise<void> {
    if (open === 0) return;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, timeoutMs);
      idle = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
}

/** The connection ends with the answer that says so, so only the last of those that are under way may. */
function closeWithLast(siblings: readonly Asked[]): void {
  const last = siblings.at(-1)?.response;
  for (const { response } of siblings) {
    if (response !== last && !response.headersSent) response.removeHeader('Connection');
  }
  if (last?.headersSent === false) last.setHeader('Connection', 'close');
}

/** What was answered already still leaves. */
function endAfterWritten(socket: Duplex): void {
  if (socket instanceof Socket) socket.destroySoon();
  else socket.destroy();
}

function readAddress(socket: Socket): string | undefined {
  return socket.remoteAddress;
}

function destroyOnError(this: Duplex): void {
  this.destroy();
}
