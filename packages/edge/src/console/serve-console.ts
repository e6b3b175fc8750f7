import { createHash, timingSafeEqual } from 'node:crypto';
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { listen, type AcceptFailure } from '../network/listen.ts';
import type { ListenAddress } from '../network/listen-address.ts';
import { CONSOLE_PATH, assetHeaders, type FindAsset } from './assets.ts';
import type { RefuseBrowser } from './check-browser.ts';
import type { Server, Socket } from 'node:net';

type ErrorCode =
  | 'GATEWAY_INVALID_REQUEST'
  | 'GATEWAY_UNAUTHORIZED'
  | 'GATEWAY_ORIGIN_NOT_ALLOWED'
  | 'GATEWAY_NOT_FOUND'
  | 'GATEWAY_METHOD_NOT_ALLOWED'
  | 'GATEWAY_RATE_LIMITED';

export interface ConsoleServerOptions<Code extends string> {
  readonly address: ListenAddress;
  /** Where the user wrote the address. */
  readonly setting: string;
  readonly tls?: { readonly cert: string; readonly key: string } | undefined;
  readonly requestTimeoutMs?: number;
  readonly maxConnections: number;
  readonly findAsset: FindAsset;
  readonly takesGzip: (acceptEncoding: string | string[] | undefined) => boolean;
  readonly refuseBrowser: RefuseBrowser;
  /** Of the token, hex. */
  readonly tokenSha256: string;
  /** Whom a wrong token is counted for, or why that cannot be told. */
  readonly sourceOf: (request: IncomingMessage) => Source | { readonly problem: string };
  /** Takes note of a wrong token of the source. */
  readonly takeWrong: (
    source: Source,
  ) => { readonly ok: true } | { readonly ok: false; readonly retryAfterSeconds: number };
  readonly errorResponse: (
    code: Code | ErrorCode,
    message: string,
    headers: readonly string[],
  ) => { readonly status: number; readonly headers: readonly string[]; readonly body: string | Uint8Array };
  /** Serves what is not for a page. False if there is nothing at this path. */
  readonly serve: (exchange: ConsoleExchange<Code>, url: URL) => boolean;
  /** The whole answer was handed to the response. */
  readonly onSent: (response: ServerResponse) => void;
  readonly onAcceptFailure: (failure: AcceptFailure) => void;
}

interface Source {
  readonly bucket: string;
  readonly address: string;
}

export interface ConsoleExchange<Code extends string> {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** Whether the method only reads; answers if not. */
  mayRead(): boolean;
  /** Whether the token is right, whatever came from its source before; answers if not. */
  isOperator(): boolean;
  send(status: number, headers: readonly string[], body: string | Uint8Array): void;
  refuse(code: Code | ErrorCode, message: string, headers?: readonly string[]): void;
}

export interface ConsoleServer {
  readonly address: string;
  readonly port: number;
  close(): Promise<void>;
}

/** How many wrong tokens of a source are answered with 401 in a minute. */
export const WRONG_PER_MINUTE = 10;

/** On every answer of a console, in turn names and values. */
export const SECURITY_HEADERS: readonly string[] = [
  'Content-Security-Policy',
  "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; base-uri 'none'; " +
    "form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'",
  'Referrer-Policy',
  'no-referrer',
  'Cross-Origin-Opener-Policy',
  'same-origin',
  'Cross-Origin-Resource-Policy',
  'same-origin',
];

export const JSON_ANSWER: readonly string[] = [
  'Cache-Control',
  'no-store',
  'Content-Type',
  'application/json',
];

/** Serves a console on an address of its own. Rejects with CannotListen. */
export async function serveConsole<Code extends string>(
  options: ConsoleServerOptions<Code>,
): Promise<ConsoleServer> {
  const { findAsset, refuseBrowser, tls } = options;
  const rightDigest = Buffer.from(options.tokenSha256, 'hex');

  function isRight(authorization = ''): boolean {
    const token = /^bearer +(\S+) *$/i.exec(authorization)?.[1] ?? '';
    return timingSafeEqual(createHash('sha256').update(token).digest(), rightDigest);
  }

  function exchangeOf(request: IncomingMessage, response: ServerResponse): ConsoleExchange<Code> {
    const exchange: ConsoleExchange<Code> = {
      request,
      response,
      mayRead() {
        if (request.method === 'GET' || request.method === 'HEAD') return true;
        exchange.refuse('GATEWAY_METHOD_NOT_ALLOWED', 'the console only shows', ['Allow', 'GET, HEAD']);
        return false;
      },
      isOperator() {
        const source = options.sourceOf(request);
        const { authorization } = request.headers;
        if ('problem' in source) exchange.refuse('GATEWAY_INVALID_REQUEST', source.problem);
        else if (isRight(authorization)) return true;
        else {
          const decision = authorization === undefined ? undefined : options.takeWrong(source);
          if (decision?.ok === false) {
            const headers = ['Retry-After', String(decision.retryAfterSeconds)];
            exchange.refuse('GATEWAY_RATE_LIMITED', 'too many wrong tokens came from this source', headers);
          } else {
            const message = 'the token of the console is required: Authorization: Bearer <token>';
            exchange.refuse('GATEWAY_UNAUTHORIZED', message);
          }
        }
        return false;
      },
      send(status, headers, body) {
        const length = ['Content-Length', String(Buffer.byteLength(body))];
        response.writeHead(status, ['X-Content-Type-Options', 'nosniff', ...length, ...headers]);
        response.end(body);
        request.resume();
        options.onSent(response);
      },
      refuse(code, message, given = []) {
        const { status, headers, body } = options.errorResponse(code, message, given);
        exchange.send(status, [...JSON_ANSWER, ...headers], body);
      },
    };
    return exchange;
  }

  const onRequest: RequestListener = (request, response) => {
    for (let at = 0; at + 1 < SECURITY_HEADERS.length; at += 2) {
      response.setHeader(SECURITY_HEADERS[at] ?? '', SECURITY_HEADERS[at + 1] ?? '');
    }
    const exchange = exchangeOf(request, response);
    const target = `http://console${request.url}`;
    const url = request.url?.startsWith('/') === true && URL.canParse(target) ? new URL(target) : undefined;
    const asset = url && findAsset(url.pathname);
    const refusal = refuseBrowser(request, asset !== undefined || url?.pathname === '/');
    if (refusal !== undefined) {
      exchange.refuse('GATEWAY_ORIGIN_NOT_ALLOWED', refusal);
      return;
    }
    if (isRight(request.headers.authorization)) showToken(request.socket);
    if (url === undefined) {
      exchange.refuse('GATEWAY_INVALID_REQUEST', 'the request target must be a path');
    } else if (asset !== undefined) {
      if (!exchange.mayRead()) return;
      const compressed = options.takesGzip(request.headers['accept-encoding']);
      exchange.send(200, assetHeaders(asset, compressed), compressed ? asset.gzip : asset.plain());
    } else if (url.pathname === '/' || url.pathname === '/console') {
      exchange.send(308, ['Location', CONSOLE_PATH], '');
    } else if (!options.serve(exchange, url)) {
      exchange.refuse('GATEWAY_NOT_FOUND', `no such path: the console is at ${CONSOLE_PATH}`);
    }
  };

  const settings = {
    // Node's own answer would be no JSON.
    requireHostHeader: false,
    headersTimeout: 10_000,
    ...(options.requestTimeoutMs === undefined ? {} : { requestTimeout: options.requestTimeoutMs }),
  };
  const server =
    tls === undefined
      ? createServer(settings, onRequest)
      : createTlsServer({ ...settings, ...tls }, onRequest);
  server.maxHeadersCount = 0;
  const showToken = boundConnections(server, options.maxConnections);
  const { address, port } = await listen(server, options.address, options.setting, options.onAcceptFailure);
  return {
    address,
    port,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

/**
 * Bounds the connections of a console without keeping its user out: a new connection takes the place of the oldest one
 * that has not shown a right token. Returns what is to be called when a connection has shown it.
 */
export function boundConnections(server: Server, most: number): (socket: Socket) => void {
  /** The oldest first. By the other end's address, since requests over TLS know another socket than the server. */
  const unproven = new Map<string, Socket>();
  const proven = new Map<string, Socket>();

  server.on('connection', (socket: Socket) => {
    const peer = peerOf(socket);
    if (unproven.size + proven.size >= most) {
      const [oldest] = unproven;
      if (oldest === undefined) {
        socket.destroy();
        return;
      }
      unproven.delete(oldest[0]);
      oldest[1].destroy();
    }
    unproven.set(peer, socket);
    socket.once('close', () => {
      for (const sockets of [unproven, proven]) if (sockets.get(peer) === socket) sockets.delete(peer);
    });
  });

  return (socket) => {
    const peer = peerOf(socket);
    const connection = unproven.get(peer);
    if (connection === undefined) return;
    unproven.delete(peer);
    proven.set(peer, connection);
  };
}

function peerOf({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress} ${remotePort}`;
}
