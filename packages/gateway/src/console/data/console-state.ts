import type { ServiceConfig } from '../../config/model.ts';
import type { History } from '../../telemetry/recent/history.ts';

/** What the data endpoints show, at one moment. */
export interface ConsoleState {
  readonly history: History;
  readonly warnings: readonly string[];
  readonly nowMs: number;
  /** On the monotonic clock of the machine, which the steps of the history use. */
  readonly monotonicMs: number;
  readonly uptimeMs: number;
  readonly replica: string;
  readonly version: string;
  /** Whether answers name the service. */
  readonly severalServices: boolean;
  /** As they are configured. */
  readonly services: readonly ServiceConfig[];
  /** With `{trace_id}` in place of the id; undefined if traces are shown nowhere. */
  readonly traceUrl: string | undefined;
}
