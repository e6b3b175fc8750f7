import type { GatewayConfig } from '../config/model.ts';
import type { Observe } from '../telemetry/events.ts';
import { createHistory } from '../telemetry/recent/history.ts';
import { createWarnings } from '../telemetry/recent/warnings.ts';
import type { PrimaryChannel } from '../cluster/channel.ts';
import { createAskAll } from '../cluster/shared/ask-all.ts';
import { configuredKeys } from './data/configured-keys.ts';
import { forwardToWorkers } from './forward-to-worker.ts';
import type { ConsoleListener } from './listener.ts';
import { openConsole } from './open-console.ts';

/** The console of a replica with workers, which see what it shows. */
export interface PrimaryConsole {
  readonly observe: Observe;
  open(): Promise<ConsoleListener>;
}

export interface PrimaryConsoleOptions {
  readonly config: GatewayConfig;
  readonly embedded: string;
  readonly channel: PrimaryChannel;
  /** Where only this user's processes reach sockets. */
  readonly folder: string;
  readonly replica: string;
  readonly version: string;
  readonly warnings: readonly string[];
  readonly configured: () => GatewayConfig['services'];
  readonly observe: Observe;
}

export function createPrimaryConsole(options: PrimaryConsoleOptions): PrimaryConsole {
  const { config, channel } = options;
  const startedAt = performance.now();
  const history = createHistory();
  const warnings = createWarnings(options.warnings);
  const refresh = createAskAll(channel, 'recent_wanted', 'recent', (batch, worker) =>
    history.add(batch, worker),
  );
  channel.onLeave((worker) => history.left(worker));
  const forward = forwardToWorkers(channel, options.folder);
  return {
    observe: warnings.observe,
    open: () =>
      openConsole({
        config,
        embedded: options.embedded,
        history,
        refresh,
        warnings,
        keys: () => configuredKeys(options.configured(), config.hasServicesFile),
        replica: options.replica,
        version: options.version,
        startedAt,
        forward,
        observe: options.observe,
      }),
  };
}
