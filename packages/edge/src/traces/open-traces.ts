import type { Attributes } from '@opentelemetry/api';
import type { ReadableSpan } from '@opentelemetry/sdk-trace';
import type { TracesConfig, SamplerConfig } from './traces-config.ts';
import { createSpanQueue } from './span-queue.ts';
import type { SpanContext } from './trace-context.ts';
import { randomFillSync } from 'node:crypto';

/** The span of a call while it runs: what others are told of it, and what it will be part of. */
export interface OpenSpan extends SpanContext {
  readonly parent: SpanContext | undefined;
}

/** Of `SpanContext` what all spans of this process have in common. */
type TracePart = Omit<SpanContext, 'spanId'>;

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
  /** Decides whether the spans of this process will be made: it knows no other part of the trace than `parent`. */
  join(parent: SpanContext | undefined): TracePart;
  newSpanId(): string;
  /** Makes the span when it is sent, where it is to be made: by then no call waits, and what is dropped cost nothing. */
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
  const resource = defaultResource().merge(
    resourceFromAttributes({
      'service.version': version,
      'service.instance.id': instanceId,
      ...config.resource,
    }),
  );
  const instrumentationScope = { name: 'svc', version };
  const contextOf = ({ traceId, spanId, sampled }: SpanContext, isRemote: boolean) => ({
    traceId,
    spanId,
    traceFlags: sampled ? api.TraceFlags.SAMPLED : api.TraceFlags.NONE,
    isRemote,
  });

  function make(open: OpenSpan, ended: EndedSpan, endedAt: number): ReadableSpan {
    const { name, kind, durationMs, attributes, failed, link } = ended;
    const context = contextOf(open, false);
    return {
      name,
      kind: kind === 'server' ? api.SpanKind.SERVER : api.SpanKind.CLIENT,
      spanContext: () => context,
      ...(open.parent && { parentSpanContext: contextOf(open.parent, true) }),
      startTime: hrTimeOf(endedAt - durationMs),
      endTime: hrTimeOf(endedAt),
      duration: hrTimeOf(durationMs),
      ended: true,
      status: { code: failed ? api.SpanStatusCode.ERROR : api.SpanStatusCode.UNSET },
      attributes,
      links: link === undefined ? [] : [{ context: contextOf(link, true) }],
      events: [],
      resource,
      instrumentationScope,
      droppedAttributesCount: 0,
      droppedEventsCount: 0,
      droppedLinksCount: 0,
    };
  }

  return {
    join(parent) {
      const traceId = parent?.traceId ?? randomId(32);
      return { traceId, sampled: decide(traceId, parent) };
    },
    newSpanId: () => randomId(16),
    end(open, ended) {
      if (!open.sampled) return;
      const endedAt = now();
      queue.add(() => make(open, ended(), endedAt));
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

/** Seconds and nanoseconds, as the SDK has times. */
function hrTimeOf(ms: number): [number, number] {
  return [Math.floor(ms / 1000), Math.floor((ms % 1000) * 1e6)];
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

/** Digits that are made at once: for each id by itself it would take a tenth of what a traced call may cost. */
const BATCH_BYTES = 3072;

/** Random hexadecimal ids of an even number of digits, never all zeros. */
export function createRandomIds(): (digits: number) => string {
  const bytes = Buffer.alloc(BATCH_BYTES);
  let text = '';
  let at = 0;
  return (digits) => {
    for (;;) {
      if (at + digits > text.length) {
        text = randomFillSync(bytes).toString('hex');
        at = 0;
      }
      const id = text.slice(at, at + digits);
      at += digits;
      if (/[^0]/.test(id)) return id;
    }
  };
}

/** Whether the spans of a trace are made. */
type Decide = (traceId: string, parent: SpanContext | undefined) => boolean;

interface FlagBudget {
  readonly perSecond: number;
  readonly now: () => number;
}

/**
 * `budget` bounds the traces that are followed because others say so; those beyond it are left out. `ofRatio` tells by its
 * id whether a trace is one of the share.
 */
function createDecide(
  { parentBased, ratio }: SamplerConfig,
  ofRatio: (traceId: string) => boolean,
  budget?: FlagBudget,
): Decide {
  const take = budget === undefined ? () => true : createTake(budget);
  return (traceId, parent) => {
    if (parentBased && parent !== undefined) return parent.sampled && take();
    return ratio === 1 || (ratio > 0 && ofRatio(traceId));
  };
}

/** As many at once as in a second. */
function createTake({ perSecond, now }: FlagBudget): () => boolean {
  let tokens = perSecond;
  let at = now();
  return () => {
    const time = now();
    tokens = Math.min(perSecond, tokens + ((time - at) / 1000) * perSecond);
    at = time;
    if (tokens < 1) return false;
    tokens--;
    return true;
  };
}
