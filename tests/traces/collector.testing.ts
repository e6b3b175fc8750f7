import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { expect } from 'vitest';
import protobuf from 'protobufjs';

/** A span as it arrived: ids in hexadecimal, '' for no parent. */
export interface Span {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId: string;
  readonly name: string;
  readonly kind: string;
  readonly attributes: Attributes;
  readonly resource: Attributes;
  readonly links: readonly { readonly traceId: string; readonly spanId: string }[];
  readonly status: string;
  readonly startMs: number;
  readonly endMs: number;
}

type Attributes = Readonly<Record<string, string | number | undefined>>;

interface Delivery {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

/** What takes spans as a collector does, and reads them by the official definitions. */
export interface Collector {
  readonly url: string;
  readonly spans: readonly Span[];
  readonly deliveries: readonly Delivery[];
  /** How it answers from now on; at first 200. */
  respond(how: number | 'hang'): void;
  /** Resolves with the spans once there are some of this kind. */
  waitFor(matches: (span: Span) => boolean, count?: number): Promise<readonly Span[]>;
  close(): Promise<void>;
}

export async function startCollector(): Promise<Collector> {
  const root = new protobuf.Root();
  root.resolvePath = (_origin, target) => join(import.meta.dirname, target);
  await root.load('opentelemetry/proto/collector/trace/v1/trace_service.proto');
  const Request = root.lookupType('opentelemetry.proto.collector.trace.v1.ExportTraceServiceRequest');
  const spans: Span[] = [];
  const deliveries: Delivery[] = [];
  let how: number | 'hang' = 200;

  function take({ path, headers, body }: Delivery): void {
    deliveries.push({ path, headers, body });
    const bytes = headers['content-encoding'] === 'gzip' ? gunzipSync(body) : body;
    const type = headers['content-type'];
    const message =
      type === 'application/json'
        ? Request.fromObject(withBinaryIds(JSON.parse(bytes.toString())))
        : Request.decode(bytes);
    expect(['application/json', 'application/x-protobuf']).toContain(type);
    const request: ExportRequest = Request.toObject(message, { bytes: String, longs: Number, enums: String });
    expect(Request.verify(message)).toBeNull();
    spans.push(...spansOf(request));
  }

  const server = createServer((request, response: ServerResponse) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      if (how === 'hang') return;
      if (how === 200)
        take({ path: request.url ?? '', headers: request.headers, body: Buffer.concat(chunks) });
      response.writeHead(how, { 'Content-Type': request.headers['content-type'] ?? 'text/plain' }).end();
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  return {
    url: `http://127.0.0.1:${port}`,
    spans,
    deliveries,
    respond: (next) => void (how = next),
    async waitFor(matches, count = 1) {
      await expect.poll(() => spans.filter(matches).length, { interval: 20 }).toBeGreaterThanOrEqual(count);
      return spans.filter(matches);
    },
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

interface ExportRequest {
  readonly resourceSpans?: readonly {
    readonly resource?: { readonly attributes?: readonly KeyValue[] };
    readonly scopeSpans?: readonly { readonly spans?: readonly ExportedSpan[] }[];
  }[];
}

interface ExportedSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly kind: string;
  readonly startTimeUnixNano: number;
  readonly endTimeUnixNano: number;
  readonly attributes?: readonly KeyValue[];
  readonly links?: readonly { readonly traceId: string; readonly spanId: string }[];
  readonly status?: { readonly code?: string };
}

interface KeyValue {
  readonly key: string;
  readonly value: {
    readonly stringValue?: string;
    readonly intValue?: number;
    readonly doubleValue?: number;
  };
}

function spansOf({ resourceSpans = [] }: ExportRequest): readonly Span[] {
  return resourceSpans.flatMap(({ resource, scopeSpans = [] }) =>
    scopeSpans.flatMap(({ spans = [] }) =>
      spans.map((span) => ({
        traceId: hexOf(span.traceId),
        spanId: hexOf(span.spanId),
        parentSpanId: hexOf(span.parentSpanId ?? ''),
        name: span.name,
        kind: span.kind,
        attributes: attributesOf(span.attributes),
        resource: attributesOf(resource?.attributes),
        links: (span.links ?? []).map(({ traceId, spanId }) => ({
          traceId: hexOf(traceId),
          spanId: hexOf(spanId),
        })),
        status: span.status?.code ?? 'STATUS_CODE_UNSET',
        startMs: span.startTimeUnixNano / 1e6,
        endMs: span.endTimeUnixNano / 1e6,
      })),
    ),
  );
}

function attributesOf(attributes: readonly KeyValue[] = []): Attributes {
  return Object.fromEntries(
    attributes.map(({ key, value }) => [key, value.stringValue ?? value.intValue ?? value.doubleValue]),
  );
}

function hexOf(base64: string): string {
  return Buffer.from(base64, 'base64').toString('hex');
}

/** In JSON, ids are hexadecimal: the one place where OTLP differs from how protobuf is written as JSON. */
function withBinaryIds(value: unknown): Record<string, unknown> {
  return JSON.parse(JSON.stringify(value), (key, member: unknown) =>
    /^(?:traceId|spanId|parentSpanId)$/.test(key) && typeof member === 'string'
      ? Buffer.from(member, 'hex').toString('base64')
      : member,
  );
}
