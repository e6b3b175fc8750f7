import { createHash, randomBytes } from 'node:crypto';
import { Agent } from 'node:http';
import {
  CONSOLE_PATH,
  createAssets,
  createBrowserCheck,
  forwardRequest,
  JSON_ANSWER,
  serveConsole,
  WRONG_PER_MINUTE,
  type ConsoleExchange,
  type ConsoleServerOptions,
} from '@svc/edge/console';
import { isLoopbackHost } from '@svc/protocol';
import { createAuthorState, type AuthorState, type AuthorStateOptions } from './author-state.ts';

export interface AuthorConsole extends Pick<AuthorState, 'passed' | 'refused'> {
  /** With the token that opens it. */
  readonly url: string;
  close(): Promise<void>;
}

export interface AuthorConsoleOptions extends AuthorStateOptions {
  /** See `createAssets`. */
  readonly embedded: string;
  /** The operators' console of the gateway, whose pages are shown too; undefined if there is none. */
  readonly ofGateway: { readonly url: string; readonly token: string } | undefined;
}

const HOST = '127.0.0.1';
const AUTHOR_PATH = `${CONSOLE_PATH}data/author`;
/** Requests that the operators' console answers beside its pages: see `listener` of the gateway. */
const OF_GATEWAY = /^(?:\/console\/data\/[a-z]+|(?:\/s\/[^/]+)?\/(?:api\/v1\/.*|openapi\.json))$/;
/** One person has a browser or two. */
const MAX_CONNECTIONS = 64;
/** To the gateway. */
const MAX_FORWARDED = 32;
const MINUTE_MS = 60_000;
const TOKEN_BYTES = 32;

/** What the gateway answers with these codes. */
const STATUS = {
  GATEWAY_INVALID_REQUEST: 400,
  GATEWAY_UNAUTHORIZED: 401,
  GATEWAY_ORIGIN_NOT_ALLOWED: 403,
  GATEWAY_NOT_FOUND: 404,
  GATEWAY_METHOD_NOT_ALLOWED: 405,
  GATEWAY_RATE_LIMITED: 429,
  GATEWAY_AGENT_OFFLINE: 503,
} as const;
type Code = keyof typeof STATUS;

/** Opens the console for the author of the file. The gateway serves the pages of operators. */
export async function openAuthorConsole(options: AuthorConsoleOptions): Promise<AuthorConsole> {
  const { embedded, ofGateway } = options;
  const state = createAuthorState(options);
  const token = ofGateway?.token ?? randomBytes(TOKEN_BYTES).toString('base64url');
  const agent = new Agent({ keepAlive: true, maxSockets: MAX_FORWARDED });

  async function answerAuthor(exchange: ConsoleExchange<Code>, name: string | null): Promise<void> {
    if (!exchange.mayRead() || !exchange.isOperator()) return;
    const body = await (name === null ? state.file() : state.capability(name));
    if (body === undefined) exchange.refuse('GATEWAY_NOT_FOUND', 'the file has no such capability');
    else exchange.send(200, JSON_ANSWER, body);
  }

  function forward(exchange: ConsoleExchange<Code>, gateway: string): void {
    const { hostname: host, port } = new URL(gateway);
    forwardRequest(exchange.request, exchange.response, {
      to: { host, port, agent },
      refuse: (_response, message) => exchange.refuse('GATEWAY_INVALID_REQUEST', message),
      onAway: () => exchange.refuse('GATEWAY_AGENT_OFFLINE', 'the gateway of the workbench does not answer'),
    });
  }

  const server = await serveConsole<Code>({
    address: { host: HOST, port: 0 },
    setting: 'console',
    maxConnections: MAX_CONNECTIONS,
    findAsset: createAssets(embedded, ofGateway === undefined ? 'author-alone' : 'author'),
    takesGzip: () => false,
    refuseBrowser: createBrowserCheck({
      listenHost: HOST,
      publicUrl: undefined,
      certificate: undefined,
      behindTlsProxy: false,
      isLoopbackHost,
      advice: 'use the address that `svc-agent dev` has printed',
    }),
    tokenSha256: createHash('sha256').update(token).digest('hex'),
    // All clients are on this machine, so their wrong tokens count together.
    sourceOf: () => ({ bucket: '', address: '' }),
    takeWrong: takeWrong(),
    errorResponse: (code, message, headers) => ({
      status: STATUS[code],
      headers: code === 'GATEWAY_UNAUTHORIZED' ? ['WWW-Authenticate', 'Bearer'] : headers,
      body: JSON.stringify({ error: { code, message } }),
    }),
    serve(exchange, { pathname, searchParams }) {
      if (pathname === AUTHOR_PATH) void answerAuthor(exchange, searchParams.get('name'));
      else if (ofGateway !== undefined && OF_GATEWAY.test(pathname)) forward(exchange, ofGateway.url);
      else return false;
      return true;
    },
    onSent() {},
    onAcceptFailure() {},
  });
  return {
    url: `http://${HOST}:${server.port}${CONSOLE_PATH}#token=${token}`,
    passed: (save) => state.passed(save),
    refused: (save) => state.refused(save),
    async close() {
      agent.destroy();
      await server.close();
    },
  };
}

function takeWrong(): ConsoleServerOptions<Code>['takeWrong'] {
  let times: readonly number[] = [];
  return () => {
    const now = performance.now();
    times = times.filter((time) => now - time < MINUTE_MS);
    const [oldest = now] = times;
    if (times.length >= WRONG_PER_MINUTE)
      return { ok: false, retryAfterSeconds: Math.max(1, Math.ceil((oldest + MINUTE_MS - now) / 1000)) };
    times = [...times, now];
    return { ok: true };
  };
}
