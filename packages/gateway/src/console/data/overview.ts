import type { CapabilityFigures, Overview, Series } from '@svc/console/data';
import { STEP_MS } from '../../telemetry/recent/batch.ts';
import { STEPS, type CallSeries } from '../../telemetry/recent/busiest.ts';
import type { ConsoleState } from './console-state.ts';

const RECENT_S = 60;

export function overview(state: ConsoleState): Overview {
  const { history, warnings, nowMs, monotonicMs, uptimeMs } = state;
  const step = Math.floor(monotonicMs / STEP_MS);
  /** The current step counts only as far as it has passed. */
  const seconds = Math.max(
    1,
    Math.min(RECENT_S - STEP_MS / 1000 + (monotonicMs % STEP_MS) / 1000, uptimeMs / 1000),
  );
  const total = history.total.recent(step);
  const agents = new Set(Array.from(history.links, ({ keyId, instanceId }) => `${keyId} ${instanceId}`)).size;
  return {
    replica: state.replica,
    version: state.version,
    uptime_s: Math.floor(uptimeMs / 1000),
    now: new Date(nowMs).toISOString(),
    step_s: STEP_MS / 1000,
    agents,
    rate_per_s: rounded(total.calls / seconds),
    p95_ms: total.p95Ms,
    error_ratio: ratio(total),
    warnings: [
      ...(agents === 0 ? ['no agent is connected: calls get GATEWAY_AGENT_OFFLINE'] : []),
      ...warnings,
    ],
    series: seriesOf(history.total, step),
    capabilities: [...history.capabilities]
      .map((series) => ({ series, recent: series.recent(step) }))
      .toSorted((a, b) => b.recent.calls - a.recent.calls)
      .map(({ series, recent }): CapabilityFigures => {
        const { service, capability, lastError } = series;
        return {
          name: capability,
          service: service === '' ? undefined : service,
          calls_per_s: rounded(recent.calls / seconds),
          p95_ms: recent.p95Ms,
          error_ratio: ratio(recent),
          last_error_code: lastError === '' ? undefined : lastError,
          series: seriesOf(series, step),
        };
      })
      // A capability without a call in the last quarter of an hour has nothing to show.
      .filter(({ series }) => series.calls.some((count) => count > 0)),
  };
}

function seriesOf(series: CallSeries, step: number): Series {
  const points = Array.from({ length: STEPS }, (_, index) => series.at(step - STEPS + 1 + index));
  return {
    calls: points.map(({ calls }) => calls),
    errors: points.map(({ errors }) => errors),
    p95_ms: points.map(({ p95Ms }) => p95Ms),
  };
}

function ratio({ calls, errors }: { readonly calls: number; readonly errors: number }): number {
  return calls === 0 ? 0 : Number((errors / calls).toFixed(4));
}

function rounded(rate: number): number {
  return Number(rate.toPrecision(3));
}
