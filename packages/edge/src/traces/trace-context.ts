/** One span as others name it: W3C Trace Context. */
export interface SpanContext {
  readonly traceId: string;
  readonly spanId: string;
  readonly sampled: boolean;
}

const TRACEPARENT = /^(?!ff)[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})$/;
const SAMPLED = 1;

/** Undefined for what is no `traceparent`. */
export function readTraceparent(value: unknown): SpanContext | undefined {
  if (typeof value !== 'string') return undefined;
  const [, traceId, spanId, flags] = TRACEPARENT.exec(value) ?? [];
  if (traceId === undefined || spanId === undefined || flags === undefined) return undefined;
  return { traceId, spanId, sampled: (Number.parseInt(flags, 16) & SAMPLED) === SAMPLED };
}

export function traceparentOf(span: SpanContext): string {
  return `00-${span.traceId}-${span.spanId}-${flagsOf(span)}`;
}

/** The names that OpenTelemetry gives them in logs of other formats. */
export interface TraceRecord {
  readonly trace_id: string;
  readonly trace_flags: string;
}

export function traceRecordOf(span: Omit<SpanContext, 'spanId'>): TraceRecord {
  return { trace_id: span.traceId, trace_flags: flagsOf(span) };
}

function flagsOf({ sampled }: Pick<SpanContext, 'sampled'>): string {
  return sampled ? '01' : '00';
}
