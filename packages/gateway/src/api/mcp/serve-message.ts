import { INITIAL_CREDIT_BYTES, rawMember, type Description } from '@svc/protocol';
import type { Caller, PermitCall } from '../../calls/permit-call.ts';
import { CallError, CallerGone } from '../../core/call-error.ts';
import type { Catalog } from '../../catalog/catalog.ts';
import type { CallLog } from '../../http/exchange.ts';
import type { CallTrace } from '../../telemetry/traces.ts';
import { ACCEPTED, errorAnswer, resultAnswer, type Answer } from './protocol/answer.ts';
import { createListTools } from './tools/list-tools.ts';
import { cancelledIdOf, isObject, loggedMethod, RPC, RpcError, type Message } from './protocol/message.ts';
import { META_SERVER_INFO, type Era, type Revisions } from './protocol/revisions.ts';
import { failedAnswer, rowsAnswer, type ResultFrame } from './tools/tool-result.ts';
import type { Transport } from './transport.ts';

export interface ServeMessageOptions {
  readonly catalog: Catalog;
  readonly permitCall: PermitCall;
  readonly revisions: Revisions;
  readonly takesTokens: boolean;
  /** Whether tools are listed with the schemas of their results. */
  readonly outputSchemas: boolean;
  /** The name of the server, for clients. */
  readonly name: string;
  readonly version: string;
  /** Whether clients are told when the list of tools changes. */
  readonly listChanged?: boolean;
}

export interface Sender extends Omit<Caller, 'log'> {
  readonly transport: Transport;
  readonly log: CallLog;
  readonly batched: boolean;
  /** Begins the trace of a message, given what it names as its parent; undefined if none are made. */
  readonly beginTrace: ((ofMessage: unknown) => CallTrace) | undefined;
}

/** Rejects with CallerGone, and with faults of the gateway itself. */
export type ServeMessage = (message: Message, sender: Sender) => Promise<Answer>;

const TTL_MS = 60_000;
const CACHING = `"ttlMs":${TTL_MS},"cacheScope":"private"`;
/** Machines may get tokens without a login. */
const EXTENSIONS = '"extensions":{"io.modelcontextprotocol/oauth-client-credentials":{}}';
const NO_PARAMS = Buffer.from('{}');
/** The methods of every revision that is served (see docs/reference/mcp.md). */
export function createServeMessage(options: ServeMessageOptions): ServeMessage {
  const { catalog, permitCall, revisions, takesTokens, outputSchemas, listChanged = false } = options;
  const listTools = createListTools(outputSchemas);
  const tools = listChanged ? '"tools":{"listChanged":true}' : '"tools":{}';
  let identity = identityOf(catalog.description, options);
  catalog.onDescription((description) => (identity = identityOf(description, options)));

  function initialize(id: string, { params }: Message, sender: Sender): Answer {
    const { serverInfo, instructions } = identity;
    const revision = JSON.stringify(revisions.negotiate(params['protocolVersion']));
    return resultAnswer(
      id,
      `{"protocolVersion":${revision},"capabilities":{${tools}},"serverInfo":${serverInfo}${instructions}}`,
      sender.transport.openSession(),
    );
  }

  function discover(id: string): Answer {
    const { frames, instructions } = identity;
    const { head, tail } = frames.stateless;
    const versions = `"supportedVersions":${JSON.stringify(revisions.served)}`;
    const capabilities = `"capabilities":{${takesTokens ? `${tools},${EXTENSIONS}` : tools}}`;
    return resultAnswer(id, `${head}${versions},${capabilities}${instructions},${CACHING}${tail}`);
  }

  async function list(id: string, era: Era, { params }: Message, { principal }: Sender): Promise<Answer> {
    // The long description of an agent may still be being read.
    if (catalog.description === undefined) await catalog.upToDate;
    const { description } = catalog;
    if (description === undefined) {
      throw new RpcError(RPC.internalError, 'agent is not connected', { logCode: 'GATEWAY_AGENT_OFFLINE' });
    }
    const { tools, nextCursor } = await listTools(description, principal, params['cursor']);
    const { head, tail } = identity.frames[era];
    const next = nextCursor === undefined ? '' : `,"nextCursor":"${nextCursor}"`;
    const caching = era === 'stateless' ? `,${CACHING}` : '';
    return {
      status: 200,
      parts: [
        Buffer.from(`{"jsonrpc":"2.0","id":${id},"result":${head}"tools":`),
        tools,
        Buffer.from(`${next}${caching}${tail}}`),
      ],
    };
  }

  async function call(id: string, era: Era, { params, raw }: Message, sender: Sender): Promise<Answer> {
    const { name, arguments: args, _meta: meta } = params;
    if (typeof name !== 'string') throw new RpcError(RPC.invalidParams, 'params.name must be a string');
    if (era === 'stateless') sender.transport.checkName(name);
    const frame = identity.frames[era];
    const { trace } = sender.log;
    const traceparents =
      trace === undefined ? [...sender.traceparents, traceparentIn(meta)] : [trace.traceparent];
    const cancellable = sender.transport.begin(id, era, sender.signal);
    try {
      const { principal, requestId, signal, log } = sender;
      const caller = { principal, requestId, traceparents, signal: cancellable?.signal ?? signal, log };
      const run = permitCall(caller, name);
      const result = await run(argumentBytes(args, raw));
      if (sender.batched && bytesOf(result.rows) > INITIAL_CREDIT_BYTES) {
        result.release();
        throw new CallError(
          'AGENT_RESULT_TOO_LARGE',
          'it is more than the 128 KB that a call in a batch may have, alone it may have more',
        );
      }
      return rowsAnswer(id, frame, result);
    } catch (error) {
      if (error instanceof CallerGone && cancellable?.cancelled === true) {
        sender.log.cancelled = true;
        return ACCEPTED;
      }
      if (!(error instanceof CallError)) throw error;
      // Only the HTTP status tells clients that a token has become too old; then they get another.
      if (error.code === 'GATEWAY_UNAUTHORIZED') throw error;
      sender.log.errorCode = error.code;
      // A caller without the permission must not learn whether the tool exists.
      if (
        error.code === 'GATEWAY_CAPABILITY_NOT_PERMITTED' ||
        error.code === 'GATEWAY_CAPABILITY_NOT_FOUND'
      ) {
        const named = sender.log.capability === '' ? '' : `: ${name}`;
        throw new RpcError(RPC.invalidParams, `unknown tool${named}`, { logCode: error.code });
      }
      if (trace !== undefined) trace.failure = 'tool_error';
      return failedAnswer(id, frame, error, sender.requestId);
    } finally {
      cancellable?.end();
    }
  }

  function cancel(notification: Message, sender: Sender): void {
    const id = cancelledIdOf(notification);
    if (id !== undefined) sender.transport.cancel(id);
  }

  function answer(id: string, message: Message, sender: Sender): Answer | Promise<Answer> {
    const era = sender.transport.eraOf(message);
    if (sender.batched && (era === 'stateless' || message.method === 'initialize')) {
      throw new RpcError(RPC.invalidRequest, 'this must not be in a batch');
    }
    switch (message.method) {
      case 'tools/call':
        return call(id, era, message, sender);
      case 'tools/list':
        return list(id, era, message, sender);
      case 'initialize':
        if (era === 'handshake') return initialize(id, message, sender);
        break;
      case 'ping':
        if (era === 'handshake') return resultAnswer(id, '{}');
        break;
      case 'server/discover':
        if (era === 'stateless') return discover(id);
        break;
    }
    throw new RpcError(RPC.methodNotFound, 'there is no such method', {
      status: era === 'stateless' ? 404 : 200,
    });
  }

  return async (message, sender) => {
    sender.log.mcpMethod = loggedMethod(message.method);
    if (message.id === undefined) {
      if (message.method === 'notifications/cancelled') cancel(message, sender);
      return ACCEPTED;
    }
    sender.log.trace = sender.beginTrace?.(traceparentIn(message.params['_meta']));
    try {
      return await answer(message.id, message, sender);
    } catch (error) {
      if (!(error instanceof RpcError)) throw error;
      sender.log.errorCode = error.logCode;
      if (sender.log.trace !== undefined) sender.log.trace.failure = error.code;
      return errorAnswer(message.id, error);
    }
  };
}

function traceparentIn(meta: unknown): unknown {
  return isObject(meta) ? meta['traceparent'] : undefined;
}

/** As they were sent: the agent reads what the caller wrote. */
function argumentBytes(args: unknown, message: Buffer): Uint8Array {
  if (args === undefined || args === null) return NO_PARAMS;
  if (!isObject(args)) throw new RpcError(RPC.invalidParams, 'params.arguments must be an object');
  return rawMember(message, 'params', 'arguments') ?? NO_PARAMS;
}

function bytesOf(pieces: readonly Uint8Array[]): number {
  return pieces.reduce((sum, { length }) => sum + length, 0);
}

/** Who answers, as JSON texts. */
interface Identity {
  readonly serverInfo: string;
  /** A member with a comma before it, or nothing. */
  readonly instructions: string;
  readonly frames: Readonly<Record<Era, ResultFrame>>;
}

/** Title and instructions are those of the capability file, once an agent told them. */
function identityOf(
  description: Description | undefined,
  { name, version }: Pick<ServeMessageOptions, 'name' | 'version'>,
): Identity {
  const { title, description: text } = description?.openapi.info ?? {};
  const serverInfo = JSON.stringify({ name, title, version });
  return {
    serverInfo,
    instructions: text === undefined ? '' : `,"instructions":${JSON.stringify(text)}`,
    frames: {
      handshake: { head: '{', tail: '}' },
      stateless: {
        head: '{"resultType":"complete",',
        tail: `,"_meta":{"${META_SERVER_INFO}":${serverInfo}}}`,
      },
    },
  };
}
