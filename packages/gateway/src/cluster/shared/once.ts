import type { GatewayEvent, Observe } from '../../telemetry/events.ts';
import type { PrimaryChannel } from '../channel.ts';

/** All workers report an event within moments; after this time the same report is about a new event. */
const SAME_MS = 10_000;

/** Observes once an event that every worker reports. */
export function tellOnce(channel: PrimaryChannel, observe: Observe, now: () => number): void {
  /** When each event was observed, the oldest first. */
  const told = new Map<string, number>();
  channel.on('seen_by_all', (event: GatewayEvent) => {
    for (const [said, at] of told) {
      if (now() - at < SAME_MS) break;
      told.delete(said);
    }
    const said = JSON.stringify(event);
    if (told.has(said)) return;
    told.set(said, now());
    observe(event);
  });
}

/** Writes a description once that every worker reports. */
export function writeSnapshots(
  channel: PrimaryChannel,
  write: (service: string, bytes: Uint8Array) => void,
): void {
  const written = new Map<string, Buffer>();
  channel.on('snapshot', ({ service, bytes }) => {
    const snapshot = Buffer.from(bytes);
    if (written.get(service)?.equals(snapshot) === true) return;
    written.set(service, snapshot);
    write(service, snapshot);
  });
}
