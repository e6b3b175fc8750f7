import type { RequestListener } from 'node:http';
import {
  CONSOLE_PATH,
  createAssets,
  createBrowserCheck,
  JSON_ANSWER,
  serveConsole,
  WRONG_PER_MINUTE,
  type ConsoleExchange,
} from '@svc/edge/console';
import { isLoopbackHost, type CallErrorCode } from '@svc/protocol';
import { createRateLimiter } from '../access/rate-limit.ts';
import type { GatewayConfig } from '../config/model.ts';
import { originOf } from '../config/parse/urls.ts';
import { errorResponse } from '../core/call-error.ts';
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

/** The console of operators on an address of its own. Rejects with CannotListen. */
export async function openListener(options: ListenerOptions): Promise<ConsoleListener> {
  const { config, observe } = options;
  const { listen: address, tokenSha256, behindTlsProxy } = config.console;
  const wrongTokens = createRateLimiter({
    requestsPerSecond: WRONG_PER_MINUTE / 60,
    burst: WRONG_PER_MINUTE,
    now: () => performance.now(),
    maxSources: SOURCES_MAX,
  });
  const resolveSource = createSourceResolver({ allowList: undefined, trustedProxies: config.trustedProxies });

  function answerApi(exchange: ConsoleExchange<CallErrorCode>): void {
    const { request, response } = exchange;
    if (request.headers.authorization !== undefined) {
      if (!exchange.isOperator()) return;
      // The API key must be the only credential that the APIs get.
      request.rawHeaders = withoutHeader(request.rawHeaders, 'authorization');
    }
    options.forward(request, response);
  }

  async function answerData(exchange: ConsoleExchange<CallErrorCode>, url: URL): Promise<void> {
    if (!exchange.mayRead() || !exchange.isOperator()) return;
    const made = options.data(url.pathname.slice(DATA_PATH.length), url.searchParams);
    if (made === undefined) {
      exchange.refuse('GATEWAY_NOT_FOUND', 'no such data: there are overview, calls, keys and agents');
      return;
    }
    try {
      exchange.send(200, JSON_ANSWER, await made);
    } catch (error) {
      const message = error instanceof Error ? (error.stack ?? error.message) : 'unknown error';
      observe({ event: 'internal_error', request_id: '', message });
      exchange.refuse('GATEWAY_INTERNAL', 'the console failed; the log of the gateway says how');
    }
  }

  const server = await serveConsole<CallErrorCode>({
    address,
    setting: 'GATEWAY_CONSOLE_ADDR',
    tls: config.tls,
    requestTimeoutMs: 10_000 + 2 * config.bodyReadTimeoutMs,
    maxConnections: MAX_CONNECTIONS,
    findAsset: createAssets(options.embedded, 'operator'),
    takesGzip,
    refuseBrowser: createBrowserCheck({
      listenHost: address.host,
      publicUrl: config.publicUrl,
      certificate: config.tls?.cert,
      behindTlsProxy,
      isLoopbackHost,
      advice: HOST_ADVICE,
    }),
    tokenSha256,
    sourceOf({ socket, rawHeaders }) {
      const source = resolveSource(socket.remoteAddress ?? '', rawHeaders);
      if (source !== 'malformed') return source;
      return { problem: 'X-Forwarded-For has an entry that is not an IP address' };
    },
    takeWrong(source) {
      const decision = wrongTokens.take(source.bucket);
      if (decision.ok) observe({ event: 'console_token_refused', source: source.address });
      return decision;
    },
    errorResponse,
    serve(exchange, url) {
      if (API.test(url.pathname)) answerApi(exchange);
      else if (url.pathname.startsWith(DATA_PATH)) void answerData(exchange, url);
      else return false;
      return true;
    },
    onSent: watchStalled,
    onAcceptFailure: (failure) => observe({ event: 'accept_failed', ...failure }),
  });
  const url = `${originOf(config, address.host, server.port)}${CONSOLE_PATH}`;
  observe({ event: 'console_listening', url, address: server.address, port: server.port });
  return server;
}
