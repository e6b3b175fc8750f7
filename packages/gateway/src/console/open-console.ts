import type { RequestListener } from 'node:http';
import type { GatewayConfig } from '../config/model.ts';
import type { Observe } from '../telemetry/events.ts';
import type { History } from '../telemetry/recent/history.ts';
import type { Warnings } from '../telemetry/recent/warnings.ts';
import { monotonicClock } from '../telemetry/recent/monotonic-clock.ts';
import { agents } from './data/agents.ts';
import { calls } from './data/calls.ts';
import type { ConsoleKey, ConsoleState } from './data/console-state.ts';
import { keys } from './data/keys.ts';
import { openListener, type ConsoleListener } from './listener.ts';
import { overview } from './data/overview.ts';

export interface ConsoleOptions {
  readonly config: GatewayConfig;
  readonly embedded: string;
  readonly history: History;
  /** Resolves when the history has all that has happened until now. */
  readonly refresh: () => Promise<void> | void;
  readonly warnings: Warnings;
  readonly keys: () => readonly ConsoleKey[];
  readonly replica: string;
  readonly version: string;
  readonly startedAt: number;
  readonly forward: RequestListener;
  readonly observe: Observe;
}

const DATA: Readonly<Record<string, (state: ConsoleState, query: URLSearchParams) => object>> = {
  overview,
  calls,
  keys,
  agents,
};

/** Opens the console of operators. Rejects with CannotListen. */
export async function openConsole(options: ConsoleOptions): Promise<ConsoleListener> {
  const { config, history, warnings, replica, version } = options;
  const { console } = config;
  if (console === undefined) throw new Error('no console is configured');
  let refreshing: Promise<void> | undefined;

  /** Those who ask at the same time are answered together. */
  function refresh(): Promise<void> {
    refreshing ??= Promise.resolve(options.refresh()).finally(() => (refreshing = undefined));
    return refreshing;
  }

  return openListener({
    config: { ...config, console },
    embedded: options.embedded,
    forward: options.forward,
    observe: options.observe,
    data(name, query) {
      const answer = Object.hasOwn(DATA, name) ? DATA[name] : undefined;
      if (answer === undefined) return undefined;
      return refresh().then(() =>
        JSON.stringify(
          answer(
            {
              history,
              warnings: warnings.current,
              nowMs: Date.now(),
              monotonicMs: monotonicClock(),
              uptimeMs: performance.now() - options.startedAt,
              replica,
              version,
              severalServices: config.hasServicesFile,
              keys: options.keys(),
              traceUrl: console.traceUrl,
            },
            query,
          ),
        ),
      );
    },
  });
}
