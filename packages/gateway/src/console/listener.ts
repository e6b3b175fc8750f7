import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { listen, type AcceptFailure } from '@svc/edge';
import {
  assetHeaders,
  boundConnections,
  CONSOLE_PATH,
  createAssets,
  createBrowserCheck,
  createTokenCheck,
  SECURITY_HEADERS,
  WRONG_PER_MINUTE,
  type Asset,
} from '@svc/edge/console';
import { isLoopbackHost, type CallErrorCode } from '@svc/protocol';
import { createRateLimiter } from '../access/rate-limit.ts';
import { errorResponse } from '../core/call-error.ts';
import type { GatewayConfig } from '../config/model.ts';
import { originOf } from '../config/parse/urls.ts';
import { takesGzip } from '../http/compress.ts';
import { watchStalled } from '../http/response-writer.ts';
import { createSourceResolver } from '../network/client-address.ts';
import type { Observe } from '../telemetry/events.ts';
import { withoutHeader } from './forward-to-worker.ts';

export interface ConsoleListener {
  close(): Promise<void>;
}

export interface ListenerOptions {
  readonly config: GatewayConfig & { readonly console: NonNullable<GatewayConfig['console']> };
  /** See `createAssets`. */
  readonly embedded: string;
  /** The answer of a data endpoint, as JSON; undefined for an unknown one. */
  readonly data: (name: string, query: URLSearchParams) => Promise<string> | undefined;
  /** Serves requests to the APIs like the listener of callers. */
  readonly forward: RequestListener;
  readonly observe: Observe;
}

const DATA_PATH = `${CONSOLE_PATH}data/`;
/** The APIs that pages call with an API key, of the default service and of others. */
const API = /^(?:\/s\/[^/]+)?\/(?:api\/v1\/.*|openapi\.json)$/;
/** Few people open it, each with a handful of connections. */
const MAX_CONNECTIONS = 256;
/** For how many sources wrong tokens are counted. */
const SOURCES_MAX = 10_000;
const HOST_ADVICE =
  'use the address in GATEWAY_CONSOLE_ADDR, the host of GATEWAY_PUBLIC_URL or a name in the certificate';
const READ = ['GET', 'HEAD'];

/** The console of operators on an address of its own. Rejects with CannotListen. */
export async function openListener(options: ListenerOptions): Promise<ConsoleListener> {
  const { config, forward, observe } = options;
  const { listen: address, tokenSha256, behindTlsProxy } = config.console;
  const findAsset = createAssets(options.embedded, 'operator');
  const wrongTokens = createRateLimiter({
    requestsPerSecond: WRONG_PER_MINUTE / 60,
    burst: WRONG_PER_MINUTE,
    now: () => performance.now(),
    maxSources: SOURCES_MAX,
  });
  const { checkToken } = createTokenCheck(tokenSha256, (source) => wrongTokens.take(source));
  const resolveSource = createSourceResolver({ allowList: undefined, trustedProxies: config.trustedProxies });
  const refuseBrowser = createBrowserCheck({
    listenHost: address.host,
    publicUrl: config.publicUrl,
    certificate: config.tls?.cert,
    behindTlsProxy,
    isLoopbackHost,
    advice: HOST_ADVICE,
  });

  /** Whether the operator asks; otherwise answers the request. */
  function isOperator(request: IncomingMessage, response: ServerResponse): boolean {
    const source = resolveSource(request.socket.remoteAddress ?? '', request.rawHeaders);
    if (source === 'malformed') {
      refuse(response, 'GATEWAY_INVALID_REQUEST', 'X-Forwarded-For has an entry that is not an IP address');
      return false;
    }
    const verdict = checkToken(request.headers.authorization, source.bucket);
    if (verdict === 'right') {
      showToken(request.socket);
      return true;
    }
    if (typeof verdict === 'object') {
      const headers = ['Retry-After', String(verdict.retryAfterSeconds)];
      refuse(response, 'GATEWAY_RATE_LIMITED', 'too many wrong tokens came from this source', headers);
      return false;
    }
    if (verdict === 'wrong') observe({ event: 'console_token_refused', source: source.address });
    refuse(
      response,
      'GATEWAY_UNAUTHORIZED',
      'the token of the console is required: Authorization: Bearer <token>',
    );
    return false;
  }

  function answerApi(request: IncomingMessage, response: ServerResponse): void {
    if (request.headers.authorization !== undefined) {
      if (!isOperator(request, response)) return;
      // The API key must be the only credential that the APIs get.
      request.rawHeaders = withoutHeader(request.rawHeaders, 'authorization');
    }
    forward(request, response);
  }

  async function answerData(request: IncomingMessage, response: ServerResponse, url: URL): Promise<void> {
    if (!mayRead(request, response) || !isOperator(request, response)) return;
    const made = options.data(url.pathname.slice(DATA_PATH.length), url.searchParams);
    if (made === undefined) {
      refuse(response, 'GATEWAY_NOT_FOUND', 'no such data: there are overview, calls, keys and agents');
      return;
    }
    try {
      const body = await made;
      send(response, 200, ['Cache-Control', 'no-store', 'Content-Type', 'application/json'], body);
    } catch (error) {
      const message = error instanceof Error ? (error.stack ?? error.message) : 'unknown error';
      observe({ event: 'internal_error', request_id: '', message });
      refuse(response, 'GATEWAY_INTERNAL', 'the console failed; the log of the gateway says how');
    }
  }

  function answerAsset(request: IncomingMessage, response: ServerResponse, asset: Asset): void {
    if (!mayRead(request, response)) return;
    const compressed = takesGzip(request.headers['accept-encoding']);
    send(response, 200, assetHeaders(asset, compressed), compressed ? asset.gzip : asset.plain());
  }

  const onRequest: RequestListener = (request, response) => {
    for (let at = 0; at + 1 < SECURITY_HEADERS.length; at += 2) {
      response.setHeader(SECURITY_HEADERS[at] ?? '', SECURITY_HEADERS[at + 1] ?? '');
    }
    const target = request.url ?? '';
    const url =
      target.startsWith('/') && URL.canParse(`http://console${target}`)
        ? new URL(`http://console${target}`)
        : undefined;
    const asset = url && findAsset(url.pathname);
    const refusal = refuseBrowser(request, asset !== undefined || url?.pathname === '/');
    if (refusal !== undefined) refuse(response, 'GATEWAY_ORIGIN_NOT_ALLOWED', refusal);
    else if (url === undefined)
      refuse(response, 'GATEWAY_INVALID_REQUEST', 'the request target must be a path');
    else if (asset !== undefined) answerAsset(request, response, asset);
    else if (API.test(url.pathname)) {
      answerApi(request, response);
      return;
    } else if (url.pathname.startsWith(DATA_PATH)) void answerData(request, response, url);
    else if (url.pathname === '/' || url.pathname === '/console')
      send(response, 308, ['Location', CONSOLE_PATH], '');
    else refuse(response, 'GATEWAY_NOT_FOUND', `no such path: the console is at ${CONSOLE_PATH}`);
    request.resume();
  };

  const settings = {
    // The answer of Node.js would not be JSON.
    requireHostHeader: false,
    headersTimeout: 10_000,
    requestTimeout: 10_000 + 2 * config.bodyReadTimeoutMs,
    noDelay: true,
  };
  const server =
    config.tls === undefined
      ? createServer(settings, onRequest)
      : createTlsServer({ ...settings, ...config.tls }, onRequest);
  server.maxHeadersCount = 0;
  const showToken = boundConnections(server, MAX_CONNECTIONS);
  const onAcceptFailure = (failure: AcceptFailure): void => observe({ event: 'accept_failed', ...failure });
  const bound = await listen(server, address, 'GATEWAY_CONSOLE_ADDR', onAcceptFailure);
  const url = `${originOf(config, address.host, bound.port)}${CONSOLE_PATH}`;
  observe({ event: 'console_listening', url, address: bound.address, port: bound.port });
  return {
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function mayRead(request: IncomingMessage, response: ServerResponse): boolean {
  if (READ.includes(request.method ?? '')) return true;
  refuse(response, 'GATEWAY_METHOD_NOT_ALLOWED', 'the console only shows', ['Allow', READ.join(', ')]);
  return false;
}

function refuse(
  response: ServerResponse,
  code: CallErrorCode,
  message: string,
  headers: readonly string[] = [],
): void {
  const { status, headers: extra, body } = errorResponse(code, message, headers);
  send(response, status, ['Cache-Control', 'no-store', 'Content-Type', 'application/json', ...extra], body);
}

function send(
  response: ServerResponse,
  status: number,
  headers: readonly string[],
  body: string | Uint8Array,
): void {
  response.writeHead(status, [
    'X-Content-Type-Options',
    'nosniff',
    'Content-Length',
    String(Buffer.byteLength(body)),
    ...headers,
  ]);
  response.end(body);
  watchStalled(response);
}
