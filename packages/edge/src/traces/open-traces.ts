import type { Attributes } from '@opentelemetry/api';
import type { TracesConfig } from './traces-config.ts';
import { createRandomIds } from './random-ids.ts';
import { createDecide, type FlagBudget } from './sampling.ts';
import { createSpanQueue } from './span-queue.ts';
import type { SpanContext } from './trace-context.ts';

/** The span of a call while it runs: what others are told of it, and what it will be part of. */
export interface OpenSpan extends SpanContext {
  readonly parent: SpanContext | undefined;
}

/** What is said of a span that has ended just now. */
export interface EndedSpan {
  readonly name: string;
  readonly kind: 'server' | 'client';
  readonly durationMs: number;
  readonly attributes: Attributes;
  readonly failed: boolean;
  /** A span that has to do with it and is not its parent. */
  readonly link?: SpanContext | undefined;
}

export interface Traces {
  /** Decides whether the span will be made. Its ids are there in either case. */
  begin(parent: SpanContext | undefined): OpenSpan;
  /** Makes the span, where it is to be made. Until now it was some ids: unsampled calls are most. */
  end(span: OpenSpan, ended: () => EndedSpan): void;
  /** Spans that never reached the collector. */
  readonly dropped: number;
  /** Sends what waits, for at most a second. */
  close(): Promise<void>;
}

const CLOSE_MS = 1000;

/** Loads the SDK. `budget` is for the traces that callers ask for. */
export async function openTraces(
  config: TracesConfig,
  { version, instanceId }: { readonly version: string; readonly instanceId: string },
  budget?: FlagBudget,
): Promise<Traces> {
  // Loaded by those who want traces only: half a megabyte.
  const [api, sdk, { defaultResource, resourceFromAttributes }] = await Promise.all([
    import('@opentelemetry/api'),
    import('@opentelemetry/sdk-trace'),
    import('@opentelemetry/resources'),
  ]);
  const queue = createSpanQueue(await createExporter(config), config);
  const randomId = createRandomIds();
  const ratio = new sdk.TraceIdRatioBasedSampler(config.sampler.ratio);
  const isOfRatio = (traceId: string): boolean =>
    ratio.shouldSample(api.ROOT_CONTEXT, traceId).decision === sdk.SamplingDecision.RECORD_AND_SAMPLED;
  const decide = createDecide(config.sampler, isOfRatio, budget);
  const now = createWallClock();
  /** Of the span that is being made. */
  let making: SpanContext = { traceId: '', spanId: '', sampled: true };
  const provider = new sdk.TracerProvider({
    resource: defaultResource().merge(
      resourceFromAttributes({
        'service.version': version,
        'service.instance.id': instanceId,
        ...config.resource,
      }),
    ),
    // What is made has been decided on before.
    sampler: new sdk.AlwaysOnSampler(),
    idGenerator: { generateTraceId: () => making.traceId, generateSpanId: () => making.spanId },
    spanProcessors: [queue],
  });
  const tracer = provider.getTracer('svc', version);
  const contextOf = ({ traceId, spanId, sampled }: SpanContext) => ({
    traceId,
    spanId,
    traceFlags: sampled ? api.TraceFlags.SAMPLED : api.TraceFlags.NONE,
    isRemote: true,
  });

  return {
    begin(parent) {
      const traceId = parent?.traceId ?? randomId(32);
      return { traceId, spanId: randomId(16), sampled: decide(traceId, parent), parent };
    },
    end(open, ended) {
      if (!open.sampled) return;
      making = open;
      const { name, kind, durationMs, attributes, failed, link } = ended();
      const endedAt = now();
      const options = {
        kind: kind === 'server' ? api.SpanKind.SERVER : api.SpanKind.CLIENT,
        startTime: endedAt - durationMs,
        attributes,
        links: link === undefined ? [] : [{ context: contextOf(link) }],
      };
      const { parent } = open;
      const around =
        parent === undefined
          ? api.ROOT_CONTEXT
          : api.trace.setSpanContext(api.ROOT_CONTEXT, contextOf(parent));
      const span = tracer.startSpan(name, options, around);
      if (failed) span.setStatus({ code: api.SpanStatusCode.ERROR });
      span.end(endedAt);
    },
    get dropped() {
      return queue.dropped;
    },
    close: () => queue.close(CLOSE_MS),
  };
}

async function createExporter({ url, protocol, headers, compression, timeoutMs, tls }: TracesConfig) {
  const { CompressionAlgorithm } = await import('@opentelemetry/otlp-exporter-base');
  const { OTLPTraceExporter } =
    protocol === 'http/json'
      ? await import('@opentelemetry/exporter-trace-otlp-http')
      : await import('@opentelemetry/exporter-trace-otlp-proto');
  return new OTLPTraceExporter({
    url,
    headers: { ...headers },
    compression: compression === 'gzip' ? CompressionAlgorithm.GZIP : CompressionAlgorithm.NONE,
    timeoutMillis: timeoutMs,
    httpAgentOptions: { keepAlive: true, ...tls },
  });
}

/** Milliseconds of the wall clock with fractions; it follows when that is set. */
function createWallClock(): () => number {
  let offset = Date.now() - performance.now();
  return () => {
    const [time, exact] = [Date.now(), performance.now() + offset];
    if (Math.abs(time - exact) <= 2) return exact;
    offset = time - performance.now();
    return time;
  };
}
