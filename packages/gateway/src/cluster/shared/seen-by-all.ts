import type { GatewayEvent, Observe } from '../../telemetry/events.ts';
import type { PrimaryChannel } from '../channel.ts';

/** All workers see it within moments; whoever sees it again after that sees something new. */
const SAME_MS = 10_000;

/** Tells once what every worker tells. */
export function tellOnce(channel: PrimaryChannel, observe: Observe, now: () => number): void {
  /** When each was told, by what it says; the oldest first. */
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
