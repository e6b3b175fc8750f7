import { createHash, randomBytes } from 'node:crypto';
import { Agent, createServer, type RequestListener, type ServerResponse } from 'node:http';
import { listen } from '@svc/edge';
import {
  assetHeaders,
  boundConnections,
  CONSOLE_PATH,
  createAssets,
  createBrowserCheck,
  createTokenCheck,
  forwardRequest,
  SECURITY_HEADERS,
  WRONG_PER_MINUTE,
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
const ON_ALL = ['X-Content-Type-Options', 'nosniff', ...SECURITY_HEADERS];
const NO_STORE = ['Cache-Control', 'no-store', 'Content-Type', 'application/json'];

/** Opens the console for the author of the file. The gateway serves the pages of operators. */
export async function openAuthorConsole(options: AuthorConsoleOptions): Promise<AuthorConsole> {
  const { embedded, ofGateway } = options;
  const state = createAuthorState(options);
  const token = ofGateway?.token ?? randomBytes(TOKEN_BYTES).toString('base64url');
  const findAsset = createAssets(embedded, ofGateway === undefined ? 'author-alone' : 'author');
  const { isRight, checkToken } = createTokenCheck(
    createHash('sha256').update(token).digest('hex'),
    takeWrong(),
  );
  const refuseBrowser = createBrowserCheck({
    listenHost: HOST,
    publicUrl: undefined,
    certificate: undefined,
    behindTlsProxy: false,
    isLoopbackHost,
    advice: 'use the address that `svc-agent dev` has printed',
  });
  const agent = new Agent({ keepAlive: true, maxSockets: MAX_FORWARDED });
  const forward = ofGateway && createForward(ofGateway.url, agent);

  async function answerAuthor(response: ServerResponse, name: string | null): Promise<void> {
    const body = await (name === null ? state.file() : state.capability(name));
    if (body === undefined) refuse(response, 404, 'GATEWAY_NOT_FOUND', 'the file has no such capability');
    else send(response, 200, NO_STORE, body);
  }

  const onRequest: RequestListener = (request, response) => {
    if (isRight(request.headers.authorization)) showToken(request.socket);
    const target = request.url ?? '';
    const base = `http://${HOST}`;
    const url = target.startsWith('/') && URL.canParse(base + target) ? new URL(base + target) : undefined;
    const path = url?.pathname ?? '';
    const asset = findAsset(path);
    const refusal = refuseBrowser(request, asset !== undefined || path === '/');
    if (refusal !== undefined) {
      refuse(response, 403, 'GATEWAY_ORIGIN_NOT_ALLOWED', refusal);
    } else if (forward !== undefined && path !== AUTHOR_PATH && OF_GATEWAY.test(path)) {
      forward(request, response);
      return;
    } else if (path === '/' || path === '/console') {
      send(response, 308, ['Location', CONSOLE_PATH], '');
    } else if (asset === undefined && path !== AUTHOR_PATH) {
      refuse(response, 404, 'GATEWAY_NOT_FOUND', `no such path: the console is at ${CONSOLE_PATH}`);
    } else if (request.method !== 'GET' && request.method !== 'HEAD') {
      refuse(response, 405, 'GATEWAY_METHOD_NOT_ALLOWED', 'the console only shows', ['Allow', 'GET, HEAD']);
    } else if (asset !== undefined) {
      send(response, 200, assetHeaders(asset, false), asset.plain());
    } else {
      const verdict = checkToken(request.headers.authorization, '');
      if (verdict === 'right') void answerAuthor(response, url?.searchParams.get('name') ?? null);
      else if (typeof verdict === 'object') {
        const headers = ['Retry-After', String(verdict.retryAfterSeconds)];
        refuse(response, 429, 'GATEWAY_RATE_LIMITED', 'too many wrong tokens came', headers);
      } else {
        const message = 'the token of the console is required: Authorization: Bearer <token>';
        refuse(response, 401, 'GATEWAY_UNAUTHORIZED', message, ['WWW-Authenticate', 'Bearer']);
      }
    }
    request.resume();
  };

  const server = createServer({ requireHostHeader: false, headersTimeout: 10_000 }, onRequest);
  server.maxHeadersCount = 0;
  const showToken = boundConnections(server, MAX_CONNECTIONS);
  const bound = await listen(server, { host: HOST, port: 0 }, 'console', () => {});
  return {
    url: `http://${HOST}:${bound.port}${CONSOLE_PATH}#token=${token}`,
    passed: (save) => state.passed(save),
    refused: (save) => state.refused(save),
    close: () =>
      new Promise((resolve) => {
        agent.destroy();
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function createForward(gateway: string, agent: Agent): RequestListener {
  const { hostname: host, port } = new URL(gateway);
  return (request, response) => {
    forwardRequest(request, response, {
      to: { host, port, agent },
      refuse: (refused, message) => refuse(refused, 400, 'GATEWAY_INVALID_REQUEST', message),
      onAway: () =>
        refuse(response, 503, 'GATEWAY_AGENT_OFFLINE', 'the gateway of the workbench does not answer'),
    });
  };
}

/** All clients are on this machine, so their wrong tokens count together. */
function takeWrong(): Parameters<typeof createTokenCheck>[1] {
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

function refuse(
  response: ServerResponse,
  status: number,
  code: string,
  message: string,
  headers: readonly string[] = [],
): void {
  send(response, status, [...NO_STORE, ...headers], JSON.stringify({ error: { code, message } }));
}

function send(
  response: ServerResponse,
  status: number,
  headers: readonly string[],
  body: string | Uint8Array,
): void {
  const length = ['Content-Length', String(Buffer.byteLength(body))];
  response.writeHead(status, [...ON_ALL, ...length, ...headers]);
  response.end(body);
}
