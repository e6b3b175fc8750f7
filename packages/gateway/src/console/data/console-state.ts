import type { History } from '../../telemetry/recent/history.ts';

/** What the data endpoints tell of, at one moment. */
export interface ConsoleState {
  readonly history: History;
  readonly warnings: readonly string[];
  /** Since 1970. */
  readonly nowMs: number;
  /** By the monotonic clock of the machine, which the steps of the history count by. */
  readonly monotonicMs: number;
  readonly uptimeMs: number;
  readonly replica: string;
  readonly version: string;
  /** Whether what is told has to say of which service it is. */
  readonly severalServices: boolean;
  readonly keys: readonly ConsoleKey[];
  /** With `{trace_id}` in the place of the id; undefined where traces are shown nowhere. */
  readonly traceUrl: string | undefined;
}

/** An API key as it is configured, without anything that it could be checked by. */
export interface ConsoleKey {
  readonly service: string | undefined;
  readonly name: string;
  readonly keyId: string | undefined;
  /** Undefined for all capabilities. */
  readonly permissions: readonly string[] | undefined;
  readonly expiresAtMs: number | undefined;
}
