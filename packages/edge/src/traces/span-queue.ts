import type { ReadableSpan, SpanExporter } from '@opentelemetry/sdk-trace';
import type { TracesConfig } from './traces-config.ts';

/** Spans on their way to the collector. No call waits for it. */
export interface SpanQueue {
  /** `make` is called once the span is sent. */
  add(make: () => ReadableSpan): void;
  /** Spans that never reached the collector: too many waited, or it did not take them. */
  readonly dropped: number;
  /** Takes nothing more and sends what waits, for at most `withinMs`; what is left then counts as dropped. */
  close(withinMs: number): Promise<void>;
}

/** Of `ExportResultCode`, whose package nothing else is needed of. */
const SUCCESS = 0;
/** The exporter gives up by itself before that. */
const GRACE_MS = 1000;

/**
 * One batch is under way at a time, when there are enough spans for it or the oldest has waited for `delayMs`. Our own
 * one since the processors of the SDK do not say what they drop.
 */
export function createSpanQueue(
  exporter: SpanExporter,
  { queue: { maxSpans, batchSpans, delayMs }, timeoutMs }: Pick<TracesConfig, 'queue' | 'timeoutMs'>,
): SpanQueue {
  let waiting: (() => ReadableSpan)[] = [];
  let underWay = 0;
  let dropped = 0;
  let closed = false;
  let timer: NodeJS.Timeout | undefined;
  let onEmpty: (() => void) | undefined;

  function next(): void {
    if (underWay > 0) return;
    if (waiting.length >= batchSpans || (closed && waiting.length > 0)) send();
    else if (waiting.length > 0) timer ??= setTimeout(send, delayMs).unref();
    else onEmpty?.();
  }

  function send(): void {
    clearTimeout(timer);
    timer = undefined;
    const batch = waiting.slice(0, batchSpans);
    waiting = waiting.slice(batchSpans);
    underWay = batch.length;
    let settled = false;
    const settle = (arrived: boolean): void => {
      if (settled) return;
      settled = true;
      clearTimeout(overdue);
      if (!arrived) dropped += batch.length;
      underWay = 0;
      next();
    };
    const overdue = setTimeout(() => settle(false), timeoutMs + GRACE_MS).unref();
    try {
      const spans = batch.map((make) => make());
      exporter.export(spans, (result: { readonly code: number }) => settle(result.code === SUCCESS));
    } catch {
      settle(false);
    }
  }

  return {
    add(make) {
      if (closed || waiting.length >= maxSpans) {
        dropped++;
        return;
      }
      waiting.push(make);
      if (underWay === 0 && (timer === undefined || waiting.length >= batchSpans)) next();
    },
    get dropped() {
      return dropped;
    },
    async close(withinMs) {
      closed = true;
      if (underWay > 0 || waiting.length > 0) {
        await new Promise<void>((resolve) => {
          const late = setTimeout(resolve, withinMs);
          onEmpty = () => {
            clearTimeout(late);
            resolve();
          };
          next();
        });
      }
      clearTimeout(timer);
      dropped += waiting.length + underWay;
      waiting = [];
    },
  };
}
