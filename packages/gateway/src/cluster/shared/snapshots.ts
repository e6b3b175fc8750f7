import type { PrimaryChannel } from '../channel.ts';

/** Every worker tells what its agents describe, which is mostly the same: it is written once. */
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
