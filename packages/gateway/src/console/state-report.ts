import type { Service } from '../services/service.ts';
import type { ProcessState, ServiceOffers } from '../telemetry/recent/batch.ts';

const IN_FLIGHT_MAX = 1000;

/** What a process says of its services: offers only when they have changed. */
export function createStateReport(
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
