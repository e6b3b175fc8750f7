import {
  openTraces,
  readTraceparent,
  traceRecordOf,
  type TraceRecord,
  type Traces,
  type TracesConfig,
} from '@svc/edge';
import type { CallEvent } from './events.ts';

export interface AgentTraces extends Pick<Traces, 'dropped' | 'close'> {
  /** Makes the span of a call, if its trace is recorded, below the gateway's span. Returns fields for the call's record. */
  end(traceparent: string | undefined, call: CallEvent, ran: RanQuery): TraceRecord;
}

interface RanQuery {
  /** The time until its query began; undefined if it did not. */
  readonly queuedMs: number | undefined;
  readonly sqlState: string | undefined;
}

/** `systemOf` gives the OpenTelemetry name for the kind of a capability's database. */
export async function openAgentTraces(
  config: TracesConfig,
  options: {
    readonly version: string;
    readonly instanceId: string;
    readonly systemOf: (capability: string) => string;
  },
): Promise<AgentTraces> {
  const traces = await openTraces(config, options);
  return {
    end(traceparent, call, { queuedMs, sqlState }) {
      const parent = readTraceparent(traceparent);
      const part = traces.join(parent);
      if (!part.sampled) return traceRecordOf(part);
      const { capability, outcome, rows, request_id: requestId, duration_ms: durationMs } = call;
      const system = options.systemOf(capability);
      traces.end({ traceId: part.traceId, spanId: traces.newSpanId(), sampled: true, parent }, () => {
        const attributes: Record<string, string | number> = {
          'db.system.name': system,
          'db.query.summary': capability,
          'svc.request_id': requestId,
        };
        if (outcome === 'OK') attributes['db.response.returned_rows'] = rows;
        else attributes['error.type'] = outcome;
        if (sqlState !== undefined) attributes['db.response.status_code'] = sqlState;
        if (queuedMs !== undefined) attributes['svc.queue_ms'] = queuedMs;
        return { name: capability, kind: 'client', durationMs, attributes, failed: outcome !== 'OK' };
      });
      return traceRecordOf(part);
    },
    get dropped() {
      return traces.dropped;
    },
    close: () => traces.close(),
  };
}
