import type { RequestListener } from 'node:http';
import type { GatewayConfig } from '../config/model.ts';
import type { Service } from '../services/service.ts';
import type { Observe } from '../telemetry/events.ts';
import { STEP_MS } from '../telemetry/recent/batch.ts';
import { createHistory } from '../telemetry/recent/history.ts';
import { monotonicClock } from '../telemetry/recent/monotonic-clock.ts';
import { createTally, type TallyOptions } from '../telemetry/recent/tally.ts';
import { createWarnings } from '../telemetry/recent/warnings.ts';
import type { WorkerChannel } from '../cluster/channel.ts';
import { configuredKeys } from './data/configured-keys.ts';
import { serveForwarded } from './forward-to-worker.ts';
import { openConsole } from './open-console.ts';
import { createStateReport } from './state-report.ts';

/** What a serving process does for the console of operators. */
export interface ConsolePart {
  readonly observe: Observe;
  /** `accept` serves a request that is for the APIs. Resolves to what is to be done last. */
  open(accept: RequestListener): Promise<() => Promise<void> | void>;
}

export interface ConsolePartOptions {
  readonly config: GatewayConfig;
  readonly embedded: string;
  /** To the primary, which holds the console where there is one. */
  readonly channel: WorkerChannel | undefined;
  readonly replica: string;
  readonly version: string;
  /** Of the configuration. */
  readonly warnings: readonly string[];
  readonly isCapability: TallyOptions['isCapability'];
  readonly services: () => Iterable<Pick<Service, 'id' | 'catalog' | 'registry'>>;
  readonly configured: () => GatewayConfig['services'];
  readonly observe: Observe;
}

export function createConsolePart(options: ConsolePartOptions): ConsolePart {
  const { config, channel } = options;
  const startedAt = performance.now();
  const history = createHistory();
  const warnings = createWarnings(options.warnings);
  const tally = createTally({
    isCapability: options.isCapability,
    state: createStateReport(options.services),
    onBatch: (batch) => (channel === undefined ? history.add(batch) : channel.tell('recent', batch)),
    wallClock: Date.now,
    now: monotonicClock,
  });

  return {
    observe(event) {
      tally.observe(event);
      warnings.observe(event);
    },
    async open(accept) {
      if (channel === undefined) {
        const listener = await openConsole({
          config,
          embedded: options.embedded,
          history,
          refresh: () => tally.flush(),
          warnings,
          keys: () => configuredKeys(options.configured(), config.hasServicesFile),
          replica: options.replica,
          version: options.version,
          startedAt,
          forward: accept,
          observe: options.observe,
        });
        return () => listener.close();
      }
      channel.on('recent_wanted', () => tally.flush());
      setInterval(() => tally.flush(), STEP_MS).unref();
      const close = await serveForwarded(channel, accept);
      return () => {
        tally.flush();
        close();
      };
    },
  };
}
