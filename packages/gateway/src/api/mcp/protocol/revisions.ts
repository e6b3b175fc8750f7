import { MCP_REVISIONS } from '../../../config/mcp-revisions.ts';
import type { RequestHeaders } from '../../../http/request/headers.ts';
import { badRequest, isObject, RPC, type Message, type RpcError } from './message.ts';

/** In the first revision without handshake, each request names its revision in `_meta`; in the others, newest first, clients begin with `initialize`. */
const [STATELESS, ...EARLIER] = MCP_REVISIONS;
const WITH_HANDSHAKE: readonly string[] = EARLIER;
/** The revisions in which a body may hold several messages; UNNAMED is that of clients that name none. */
export const WITH_BATCHES: ReadonlySet<string> = new Set(['2025-03-26', '2024-11-05']);
const UNNAMED = '2025-03-26';

const META = 'io.modelcontextprotocol/';
export const META_SERVER_INFO: string = `${META}serverInfo`;
const META_VERSION = `${META}protocolVersion`;
const META_CAPABILITIES = `${META}clientCapabilities`;

export type Era = 'handshake' | 'stateless';

export interface Revisions {
  readonly served: readonly string[];
  /** The revision that `initialize` agrees on. Throws RpcError (400) when no served revision has a handshake. */
  readonly negotiate: (requested: unknown) => string;
  /** Throws RpcError (400) when the client's revision has no batches, or is not served. */
  readonly checkBatchAllowed: (headers: Pick<RequestHeaders, 'mcpProtocolVersion' | 'repeated'>) => void;
  /** The rules that a request claims in `_meta`, else in its header. Throws RpcError (400) when they are not kept or served. */
  readonly eraOf: (message: Message, headers: RequestHeaders) => Era;
  /** The same where there are no headers. */
  readonly eraByMeta: (message: Message) => Era;
}

/** `served` are some of MCP_REVISIONS, in their order. */
export function createRevisions(served: readonly string[]): Revisions {
  const withHandshake = WITH_HANDSHAKE.filter((revision) => served.includes(revision));

  function unsupported(requested: string): RpcError {
    const data = { supported: served, requested };
    return badRequest(RPC.unsupportedProtocolVersion, 'this protocol version is not served', data);
  }

  function eraOfRevision(claimed: string, message: Message): Era {
    if (!served.includes(claimed)) throw unsupported(claimed);
    if (WITH_HANDSHAKE.includes(claimed)) return 'handshake';
    if (!isObject(metaOf(message)[META_CAPABILITIES])) throw lacking(META_CAPABILITIES);
    return 'stateless';
  }

  return {
    served,
    negotiate(requested) {
      const [newest] = withHandshake;
      if (newest === undefined) throw unsupported(typeof requested === 'string' ? requested : '');
      return typeof requested === 'string' && withHandshake.includes(requested) ? requested : newest;
    },
    checkBatchAllowed(headers) {
      const revision = namedRevision(headers) ?? UNNAMED;
      if (!served.includes(revision)) throw unsupported(revision);
      if (!WITH_BATCHES.has(revision)) {
        const message = `revision ${revision} has no batches; send one message a request`;
        throw badRequest(RPC.invalidRequest, message);
      }
    },
    eraOf(message, headers) {
      const { method } = message;
      const header = namedRevision(headers);
      const claimed = claimedRevision(message);
      if (claimed === undefined) {
        // `initialize` itself settles the revision.
        if (method === 'initialize' && header !== STATELESS) return 'handshake';
        if (header !== undefined && !served.includes(header)) throw unsupported(header);
        if (header === STATELESS) throw lacking(META_VERSION);
        if (withHandshake.length === 0) throw unsupported(UNNAMED);
        return 'handshake';
      }
      if (!WITH_HANDSHAKE.includes(claimed) || header !== undefined) {
        requireHeader(headers, 'mcp-protocol-version', header, claimed);
      }
      const era = eraOfRevision(claimed, message);
      if (era === 'stateless') requireHeader(headers, 'mcp-method', headers.mcpMethod?.trim(), method);
      return era;
    },
    eraByMeta(message) {
      const claimed = claimedRevision(message);
      return claimed === undefined ? 'handshake' : eraOfRevision(claimed, message);
    },
  };
}

function metaOf({ params }: Message): Readonly<Record<string, unknown>> {
  return isObject(params['_meta']) ? params['_meta'] : {};
}

/** Undefined if the message names none. */
function claimedRevision(message: Message): string | undefined {
  const meta = metaOf(message);
  if (!Object.hasOwn(meta, META_VERSION)) return undefined;
  const claimed = meta[META_VERSION];
  if (typeof claimed !== 'string') throw lacking(META_VERSION);
  return claimed;
}

function namedRevision({
  mcpProtocolVersion,
  repeated,
}: Pick<RequestHeaders, 'mcpProtocolVersion' | 'repeated'>): string | undefined {
  if (!repeated.includes('mcp-protocol-version')) return mcpProtocolVersion?.trim();
  throw badRequest(RPC.headerMismatch, 'the header mcp-protocol-version came more than once');
}

export function checkNameHeader(headers: RequestHeaders, name: string): void {
  requireHeader(headers, 'mcp-name', decoded(headers.mcpName?.trim()), name);
}

/** The header must match: a proxy before the gateway may have decided by it. */
function requireHeader(
  { repeated }: RequestHeaders,
  header: string,
  value: string | undefined,
  expected: string,
): void {
  if (value === expected && !repeated.includes(header)) return;
  const problem = value === undefined ? 'is missing' : 'does not match the body';
  throw badRequest(RPC.headerMismatch, `the header ${header} ${problem}`);
}

/** `=?base64?...?=` holds what a header cannot. Throws RpcError (400) when it is not the canonical spelling. */
function decoded(value: string | undefined): string | undefined {
  const base64 = /^=\?base64\?(.*)\?=$/.exec(value ?? '')?.[1];
  if (base64 === undefined) return value;
  const bytes = Buffer.from(base64, 'base64');
  if (bytes.toString('base64') === base64) return bytes.toString();
  throw badRequest(RPC.headerMismatch, 'the header mcp-name is not valid base64');
}

function lacking(key: string): RpcError {
  return badRequest(RPC.invalidParams, `params._meta must hold ${key}`);
}
