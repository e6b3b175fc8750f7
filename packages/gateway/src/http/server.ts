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
import { openFileLimit } from '@svc/edge';
import { createSourcePolicy } from '../access/source-policy.ts';
import { createConnections } from './connections.ts';
import { openExchange, type Exchange, type ExchangeOptions } from './exchange.ts';
import type { RequestLimiter } from '../access/rate-limit.ts';
import { createFindRoute, type Route } from './routes.ts';
import type { ResolveSource } from '../network/client-address.ts';
import { endFurtherConnections, maxConnectionsOf } from './connection/limit-connections.ts';
import { closeIdleConnections } from './connection/idle-connections.ts';
import { createTurns } from './connection/turns.ts';
import { createValidateRequest } from './validate-request.ts';
import { createRefuseUnparsable, parserFault } from './connection/unparsable.ts';
import { isWebSocket, serveWithoutUpgrade, WITHOUT_OTHER_UPGRADES } from './connection/without-upgrade.ts';

/** What answers the requests of each kind of route that a service has; a rejection becomes the answer. */
export interface ServiceHandlers {
  call(exchange: Exchange, capability: string): Promise<void>;
  mcp(exchange: Exchange): Promise<void>;
  openapi(exchange: Exchange): Promise<void>;
  ready(exchange: Exchange): Promise<void> | void;
}

/** Those of the default service, except `ready`, which is the gateway's. */
export interface Handlers extends ServiceHandlers {
  health(exchange: Exchange): void;
  /** Undefined if no agent connects to this process. */
  readonly agent: ((exchange: Exchange) => void) | undefined;
}

export interface ServicesByPath {
  find(id: string): { readonly handlers: ServiceHandlers } | undefined;
  /** For a service that does not exist. */
  readonly nobody: ServiceHandlers;
}

/** Paths that depend on the configuration: the description of how to get tokens, and the pages for callers. */
export interface ServedPaths {
  find(path: string): Route | undefined;
  serve(exchange: Exchange): void;
}

export interface ServerOptions extends ExchangeOptions {
  readonly handlers: Handlers;
  readonly resolveSource: ResolveSource;
  readonly rateLimiter: RequestLimiter | undefined;
  readonly tls: { readonly cert: string; readonly key: string } | undefined;
  readonly bodyReadTimeoutMs: number;
  readonly keepAliveMs: number;
  readonly workers: number;
  readonly metadata: ServedPaths | undefined;
  readonly console: ServedPaths | undefined;
  readonly services: ServicesByPath | undefined;
  readonly basePath: string;
}

export interface GatewayServer {
  readonly server: Server;
  /** Serves a request that came to another listener as if it had come to this one. */
  readonly accept: RequestListener;
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
/** A request that was on its way when the shutdown began still gets its answer. */
const LAST_REQUESTS_MS = 500;

export function createGatewayServer(options: ServerOptions): GatewayServer {
  const { handlers, services, metadata, console: pages } = options;
  const sourcePolicy = createSourcePolicy(options);
  const validateRequest = createValidateRequest(
    sourcePolicy,
    createFindRoute({
      find: (path) => metadata?.find(path) ?? pages?.find(path),
      ofServices: services !== undefined,
      takesAgents: handlers.agent !== undefined,
      basePath: options.basePath,
    }),
  );
  const refuseUnparsable = createRefuseUnparsable(sourcePolicy, options);
  const turns = createTurns(options.now);
  const connections = createConnections(turns);

  function accept(request: IncomingMessage, response: ServerResponse, upgrade: Exchange['upgrade']): void {
    // Node.js also hands over what a read brought after the last answer: an answer to it would be taken for that of an
    // earlier request.
    if (connections.isBehindLast(request.socket)) {
      request.resume();
      return;
    }
    const exchange = openExchange(request, response, upgrade, options);
    void serve(exchange, connections.add(exchange, response));
  }

  async function serve(exchange: Exchange, place: number): Promise<void> {
    try {
      const found = validateRequest(exchange, place);
      const route = found instanceof Promise ? await found : found;
      if (route === undefined) return;
      // One read may bring many pipelined requests; other connections must not wait for all of them.
      if (place > 1) await new Promise<void>(turns.later);
      if (!exchange.signal.aborted) await handle(exchange, route);
    } catch (error) {
      exchange.fail(error);
    }
  }

  function handlersOf(exchange: Exchange, service: string | undefined): ServiceHandlers {
    if (services === undefined || service === undefined) return handlers;
    const found = services.find(service);
    if (found === undefined) return services.nobody;
    exchange.log.service = service;
    return found.handlers;
  }

  function handle(exchange: Exchange, route: Route): Promise<void> | void {
    if (exchange.upgrade !== undefined && route.kind !== 'agent') {
      exchange.sendError('GATEWAY_INVALID_REQUEST', 'this path does not upgrade');
      return;
    }
    switch (route.kind) {
      case 'call':
        return handlersOf(exchange, route.service).call(exchange, route.capability);
      case 'mcp':
      case 'openapi':
      case 'ready':
        return handlersOf(exchange, route.service)[route.kind](exchange);
      case 'health':
        return handlers.health(exchange);
      case 'agent':
        return handlers.agent?.(exchange);
      case 'metadata':
        return metadata?.serve(exchange);
      case 'console':
        return pages?.serve(exchange);
    }
  }

  const onRequest: RequestListener = (request, response) => accept(request, response, undefined);
  const settings = {
    maxHeaderSize: MAX_HEADER_BYTES,
    // The gateway checks the Host header itself, since the answer of Node.js is no JSON.
    requireHostHeader: false,
    headersTimeout: HEADERS_TIMEOUT_MS,
    // The last resort: the gateway's own time-out of the body fires earlier and answers in JSON.
    requestTimeout: HEADERS_TIMEOUT_MS + 2 * options.bodyReadTimeoutMs,
    connectionsCheckingInterval: 1000,
    noDelay: true,
    handshakeTimeout: HEADERS_TIMEOUT_MS,
    ...(options.tls === undefined ? WITHOUT_OTHER_UPGRADES : {}),
  };
  const server =
    options.tls === undefined
      ? createServer(settings, onRequest)
      : createTlsServer({ ...settings, ...options.tls }, onRequest);
  // Beyond a count Node.js drops headers silently, also from rawHeaders; the bound on their bytes is enough.
  server.maxHeadersCount = 0;
  closeIdleConnections(server, options.keepAliveMs, (socket) => connections.pendingOn(socket).length === 0);
  const most = maxConnectionsOf(options.workers, openFileLimit());
  if (options.workers === 1) server.maxConnections = most;
  else endFurtherConnections(server, most);
  // After a reset the peer's address is known only if it was read before.
  server.on(options.tls === undefined ? 'connection' : 'secureConnection', readAddress);
  server.on('checkContinue', (request: IncomingMessage, response: ServerResponse) => {
    const goOn = (): void => {
      if (!response.headersSent) response.writeContinue();
    };
    request.once('newListener', (event) => {
      // The caller is asked for the body only once somebody reads it, which is after authentication.
      if (event !== 'data') return;
      // A pipelined request is asked for its body only after the answers before it have been sent.
      if (response.socket === null) response.once('socket', goOn);
      else goOn();
    });
    accept(request, response, undefined);
  });
  // Any other expectation may be ignored (RFC 9110, section 10.1.1); the answer of Node.js would be no JSON.
  server.on('checkExpectation', onRequest);

  /** Whether a request that Node hands over with its connection is pipelined: it gets no answer, the connection ends. */
  function outOfTurn(socket: Socket): boolean {
    if (!socket.listeners('error').includes(destroyOnError)) socket.on('error', destroyOnError);
    if (!socket.writable) {
      socket.resume();
      return true;
    }
    const [before, ...others] = connections.pendingOn(socket);
    if (before === undefined) return false;
    if (others.length === 0 && before.response.writableEnded) socket.destroySoon();
    else socket.destroy();
    return true;
  }

  /** Gives a request that Node.js hands over with its connection a response like any other. */
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
  // A CONNECT request is refused, since its target is no path.
  server.on('connect', (request: IncomingMessage, socket: Socket) => {
    if (!outOfTurn(socket)) acceptHandedOver(request, socket, undefined);
  });
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Duplex) => {
    // What comes after the last answer is ignored.
    if (connections.has(socket) && !socket.writable) return;
    const fault = parserFault(error);
    const [oldest, ...others] = connections.pendingOn(socket);
    // What comes after "Connection: close" is ignored; the answer that ends the connection is still to come.
    if (error.code === 'HPE_CLOSED_CONNECTION' && oldest !== undefined) return;
    if (fault === undefined) socket.destroy();
    else if (oldest === undefined) refuseUnparsable(fault, socket);
    else if (oldest.response.headersSent) endAfterWritten(socket);
    else if (oldest.response.req.complete || others.length > 0 || error.code === 'HPE_INVALID_EOF_STATE') {
      // A refusal would be taken for the answer to an earlier request, or no caller is left to read it.
      socket.destroy();
    } else oldest.exchange.sendError(fault.code, fault.message, ['Connection', 'close']);
  });

  return {
    server,
    accept: onRequest,
    get inFlight() {
      return connections.inFlight;
    },
    async drain(timeoutMs) {
      const kept = connections.drain();
      // The close of the HTTP server would also end idle connections, and lose requests on their way there.
      TcpServer.prototype.close.call(server);
      const lingerMs = kept === 0 ? 0 : Math.min(LAST_REQUESTS_MS, timeoutMs);
      await wait(lingerMs);
      await connections.answered(timeoutMs - lingerMs);
    },
    answered: (timeoutMs) => connections.answered(timeoutMs),
  };
}

/** Lets answers that are already written leave. */
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
