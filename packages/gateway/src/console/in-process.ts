import type { RequestListener } from 'node:http';
import type { Service } from '../services/service.ts';
import type { Observe } from '../telemetry/events.ts';
import { monotonicClock, STEP_MS, type ProcessState, type ServiceOffers } from '../telemetry/recent/batch.ts';
import { createHistory } from '../telemetry/recent/history.ts';
import { createTally, type TallyOptions } from '../telemetry/recent/tally.ts';
import { createWarnings } from '../telemetry/recent/warnings.ts';
import type { WorkerChannel } from '../cluster/channel.ts';
import { serveForwarded } from './forward-to-worker.ts';
import { openConsole, type ConsoleOptions } from './open-console.ts';

/** The part of a serving process in the console of operators. */
export interface ConsolePart {
  readonly observe: Observe;
  /** `accept` serves requests to the APIs. Resolves to what must be called last. */
  open(accept: RequestListener): Promise<() => Promise<void> | void>;
}

export interface ConsolePartOptions extends ConsoleOptions {
  /** To the primary, which then has the console. */
  readonly channel: WorkerChannel | undefined;
  readonly isCapability: TallyOptions['isCapability'];
  readonly services: () => Iterable<Pick<Service, 'id' | 'catalog' | 'registry'>>;
}

const IN_FLIGHT_MAX = 1000;

export function createConsolePart(options: ConsolePartOptions): ConsolePart {
  const { channel } = options;
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
        const refresh = (): void => tally.flush();
        const listener = await openConsole(options, {
          history,
          refresh,
          warnings,
          startedAt,
          forward: accept,
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

/** Reports the services of this process; their offers only if they have changed since the last report. */
function createStateReport(
  services: () => Iterable<Pick<Service, 'id' | 'catalog' | 'registry'>>,
): () => ProcessState {
  let told = '';

  return () => {
    const all = [...services()];
    const inFlight: (readonly [string, number])[] = [];
    for (const { registry } of all) {
      for (const { connId, inFlight: calls } of registry.sessions) {
        if (calls > 0 && inFlight.length < IN_FLIGHT_MAX) inFlight.push([connId, calls]);
      }
    }
    const now = JSON.stringify(
      all.map(({ id, catalog }) => [
        id,
        catalog.offers.map(({ keyId, instanceId, digest }) => [keyId, instanceId, digest]),
      ]),
    );
    if (now === told) return { inFlight, offers: undefined };
    told = now;
    return { inFlight, offers: all.map(offersOf) };
  };
}

function offersOf({ id, catalog }: Pick<Service, 'id' | 'catalog'>): ServiceOffers {
  return {
    service: id,
    capabilities: (catalog.description?.manifest ?? []).map(({ name }) => name),
    offers: catalog.offers.map(({ keyId, instanceId, description }) => ({
      keyId,
      instanceId,
      version: description.openapi.info.version,
      capabilities: description.manifest.map(({ name }) => name),
    })),
  };
}
