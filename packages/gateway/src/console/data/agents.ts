import type { Agents, ConnectedAgent, Offer } from '@svc/console/data';
import type { ConsoleState } from './console-state.ts';

const SHOWN_MAX = 1000;

export function agents({ history, nowMs, severalServices }: ConsoleState): Agents {
  const versions = new Map<string, string>(
    history.offers.flatMap(({ offers }) =>
      offers.map(({ keyId, instanceId, version }) => [`${keyId} ${instanceId}`, version] as const),
    ),
  );
  const connected = new Map<string, ConnectedAgent>();
  for (const { service, instanceId, keyId, source, sinceMs, capabilities, inFlight } of history.links) {
    const name = `${keyId} ${instanceId}`;
    const before = connected.get(name);
    // The clock may have been set back since.
    const since = new Date(Math.min(sinceMs, nowMs)).toISOString();
    connected.set(name, {
      instance_id: instanceId,
      key_id: keyId,
      service,
      source,
      since: before === undefined || since < before.since ? since : before.since,
      version: versions.get(name),
      links: (before?.links ?? 0) + 1,
      capabilities,
      in_flight: (before?.in_flight ?? 0) + inFlight,
    });
  }
  const offers = history.offers.flatMap((ofService) =>
    ofService.offers.map(({ instanceId, keyId, capabilities }): Offer => ({
      instance_id: instanceId,
      key_id: keyId,
      service: severalServices ? ofService.service : undefined,
      connected: connected.has(`${keyId} ${instanceId}`),
      capabilities,
    })),
  );
  return { agents: [...connected.values()].slice(0, SHOWN_MAX), offers: offers.slice(0, SHOWN_MAX) };
}
