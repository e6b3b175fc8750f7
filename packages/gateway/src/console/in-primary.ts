import type { Observe } from '../telemetry/events.ts';
import { createHistory } from '../telemetry/recent/history.ts';
import { createWarnings } from '../telemetry/recent/warnings.ts';
import type { PrimaryChannel } from '../cluster/channel.ts';
import { createAskAll } from '../cluster/shared/ask-all.ts';
import { forwardToWorkers } from './forward-to-worker.ts';
import type { ConsoleListener } from './listener.ts';
import { openConsole, type ConsoleOptions } from './open-console.ts';

/** The console of a replica with workers, which report what it shows. */
export interface PrimaryConsole {
  readonly observe: Observe;
  open(): Promise<ConsoleListener>;
}

export interface PrimaryConsoleOptions extends ConsoleOptions {
  readonly channel: PrimaryChannel;
  /** For sockets that only processes of this user reach. */
  readonly folder: string;
}

export function createPrimaryConsole(options: PrimaryConsoleOptions): PrimaryConsole {
  const { channel } = options;
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
    open: () => openConsole(options, { history, refresh, warnings, startedAt, forward }),
  };
}
