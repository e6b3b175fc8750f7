import type { RequestListener } from 'node:http';
import type { GatewayConfig } from '../config/model.ts';
import type { Observe } from '../telemetry/events.ts';
import { monotonicClock } from '../telemetry/recent/batch.ts';
import type { History } from '../telemetry/recent/history.ts';
import type { Warnings } from '../telemetry/recent/warnings.ts';
import { agents } from './data/agents.ts';
import { calls } from './data/calls.ts';
import type { ConsoleState } from './data/console-state.ts';
import { keys } from './data/keys.ts';
import { openListener, type ConsoleListener } from './listener.ts';
import { overview } from './data/overview.ts';

/** What every process with a console gives it. */
export interface ConsoleOptions {
  readonly config: GatewayConfig;
  readonly embedded: string;
  readonly replica: string;
  readonly version: string;
  /** Of the configuration. */
  readonly warnings: readonly string[];
  /** The services as they are configured now. */
  readonly configured: () => GatewayConfig['services'];
  readonly observe: Observe;
}

export interface Shown {
  readonly history: History;
  /** Resolves when the history has everything that has happened until now. */
  readonly refresh: () => Promise<void> | void;
  readonly warnings: Warnings;
  readonly startedAt: number;
  readonly forward: RequestListener;
}

const DATA: Readonly<Record<string, (state: ConsoleState, query: URLSearchParams) => object>> = {
  overview,
  calls,
  keys,
  agents,
};

/** Opens the console of operators. Rejects with CannotListen. */
export async function openConsole(
  { config, embedded, replica, version, configured, observe }: ConsoleOptions,
  { history, warnings, startedAt, forward, ...shown }: Shown,
): Promise<ConsoleListener> {
  const { console } = config;
  if (console === undefined) throw new Error('no console is configured');
  let refreshing: Promise<void> | undefined;

  /** Requests that come at the same time share one refresh. */
  function refresh(): Promise<void> {
    refreshing ??= Promise.resolve(shown.refresh()).finally(() => (refreshing = undefined));
    return refreshing;
  }

  const stateNow = (): ConsoleState => ({
    history,
    warnings: warnings.current,
    nowMs: Date.now(),
    monotonicMs: monotonicClock(),
    uptimeMs: performance.now() - startedAt,
    replica,
    version,
    severalServices: config.hasServicesFile,
    services: configured(),
    traceUrl: console.traceUrl,
  });
  return openListener({
    config: { ...config, console },
    embedded,
    forward,
    observe,
    data(name, query) {
      const answer = Object.hasOwn(DATA, name) ? DATA[name] : undefined;
      return answer && refresh().then(() => JSON.stringify(answer(stateNow(), query)));
    },
  });
}
