import {
  openTraces,
  readTraceparent,
  traceparentOf,
  traceRecordOf,
  type OpenSpan,
  type SpanContext,
  type TraceRecord,
  type TracesConfig,
} from '@svc/edge';
import type { RequestEvent } from './events.ts';

/** How a message of MCP has failed: with a result that says so, or with an error code. */
type McpFailure = 'tool_error' | number;

/** The trace that a call is part of, once its caller is known. */
export interface CallTrace {
  /** The fields of the records of the call. */
  readonly record: TraceRecord;
  /** For the agent, whose spans belong to this call. */
  readonly traceparent: string;
  /** Over MCP, if the call fails. */
  failure: McpFailure | undefined;
  readonly span: OpenSpan;
  /** Another context that came with the call. */
  readonly link: SpanContext | undefined;
  readonly mcpVersion: string | undefined;
}

export interface GatewayTraces {
  begin(traceparent: string | undefined): CallTrace;
  /** A message of MCP names its parent itself; the parent in a header is that of the HTTP request. */
  beginMessage(ofMessage: unknown, headers: McpHeaders): CallTrace;
  /** `request` is the record of the call. */
  end(trace: CallTrace, request: RequestEvent): void;
  /** Spans that never reached the collector. */
  readonly dropped: number;
  close(): Promise<void>;
}

interface McpHeaders {
  readonly traceparent: string | undefined;
  readonly mcpProtocolVersion: string | undefined;
}

export interface TracesOptions {
  readonly config: TracesConfig;
  readonly version: string;
  readonly replicaId: string;
  /** Whether callers come by HTTPS. */
  readonly secure: boolean;
  /** The bound on traces that callers request is shared among them. */
  readonly workers: number;
  readonly now: () => number;
}

/** Traces a second that are recorded because callers request it, whatever the sampler decides. */
const CALLERS_PER_SECOND = 100;
/** Revisions are dates; a caller may send any other text. */
const REVISION = /^[0-9]{4}-[0-9]{2}-[0-9]{2}$/;

/** Makes spans only for calls whose callers are known. */
export async function openGatewayTraces(options: TracesOptions): Promise<GatewayTraces> {
  const { config, version, replicaId, secure, workers, now } = options;
  const perSecond = Math.ceil(CALLERS_PER_SECOND / workers);
  const traces = await openTraces(config, { version, instanceId: replicaId }, { perSecond, now });

  function begin(parent: SpanContext | undefined, link?: SpanContext, mcpVersion?: string): CallTrace {
    const { traceId, sampled } = traces.join(parent);
    const span = { traceId, spanId: traces.newSpanId(), sampled, parent };
    return {
      record: traceRecordOf(span),
      traceparent: traceparentOf(span),
      failure: undefined,
      span,
      link,
      mcpVersion,
    };
  }

  return {
    begin: (traceparent) => begin(readTraceparent(traceparent)),
    beginMessage(ofMessage, { traceparent, mcpProtocolVersion: revision = '' }) {
      const [own, ofRequest] = [readTraceparent(ofMessage), readTraceparent(traceparent)];
      const mcpVersion = REVISION.test(revision) ? revision : undefined;
      return own === undefined ? begin(ofRequest, undefined, mcpVersion) : begin(own, ofRequest, mcpVersion);
    },
    end(trace, request) {
      traces.end(trace.span, () => {
        const { name, attributes } = describe(request, trace, secure);
        return {
          name,
          kind: 'server',
          durationMs: request.duration_ms,
          attributes,
          failed: 'error.type' in attributes,
          link: trace.link,
        };
      });
    },
    get dropped() {
      return traces.dropped;
    },
    close: () => traces.close(),
  };
}

interface Described {
  readonly name: string;
  readonly attributes: Readonly<Record<string, string | number>>;
}

function describe(request: RequestEvent, { failure, mcpVersion }: CallTrace, secure: boolean): Described {
  const { method, route, capability, service, http_status: status, error_code: code } = request;
  const attributes: Record<string, string | number> = {
    'http.request.method': method,
    'http.route': route,
    'url.path': route.replace('{name}', capability).replace('{service}', service ?? ''),
    'url.scheme': secure ? 'https' : 'http',
    'http.response.status_code': status,
    'client.address': request.source,
    'svc.request_id': request.request_id,
  };
  if (capability !== '') attributes['svc.capability'] = capability;
  if (service !== undefined && service !== '') attributes['svc.service'] = service;
  if (code !== '') attributes['svc.error_code'] = code;
  // By the convention for HTTP, a faulty request is not an error of the server.
  if (status >= 500) attributes['error.type'] = code === '' ? String(status) : code;
  if (request.mcp_method === undefined) return { name: `${method} ${route}`, attributes };
  const ofMcp = mcpSpan(request, failure, mcpVersion);
  return { name: ofMcp.name, attributes: Object.assign(attributes, ofMcp.attributes) };
}

/**
 * Describes a message by OpenTelemetry's conventions for MCP. They are in development and their names still change, so the
 * names occur only here.
 */
function mcpSpan(
  { mcp_method: method = '', capability }: RequestEvent,
  failure: McpFailure | undefined,
  protocolVersion: string | undefined,
): { readonly name: string; readonly attributes: Readonly<Record<string, string>> } {
  const attributes: Record<string, string> = { 'mcp.method.name': method };
  if (protocolVersion !== undefined) attributes['mcp.protocol.version'] = protocolVersion;
  if (method === 'tools/call') attributes['gen_ai.operation.name'] = 'execute_tool';
  if (capability !== '') attributes['gen_ai.tool.name'] = capability;
  if (failure !== undefined) attributes['error.type'] = String(failure);
  if (typeof failure === 'number') attributes['rpc.response.status_code'] = String(failure);
  return { name: capability === '' ? method : `${method} ${capability}`, attributes };
}
