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
  readonly services: readonly { readonly id: string; readonly keys: readonly ConsoleKey[] }[];
  /** With `{trace_id}` in place of the id; undefined if traces are shown nowhere. */
  readonly traceUrl: string | undefined;
}

/** An API key as it is configured, without anything that it could be checked against. */
export type ConsoleKey = Pick<
  ServiceConfig['keys'][number],
  'name' | 'keyId' | 'capabilities' | 'expiresAtMs'
>;
