import type { GatewayConfig } from '../../config/model.ts';
import type { PrimaryChannel, WorkerChannel } from '../channel.ts';
import type { ReplicaCount } from '../replica.ts';

/** In the primary: workers that join and those that are there are told. */
export function shareReplicaCount(channel: PrimaryChannel, count: ReplicaCount): void {
  channel.onJoin((worker) => channel.send(worker, 'replica_count', { count: count.current }));
  count.onChange((to) => channel.broadcast('replica_count', { count: to }));
}

/** In a worker: as the primary counts. */
export function followReplicaCount(
  channel: WorkerChannel,
  replicas: GatewayConfig['replicas'],
): ReplicaCount {
  const listeners: ((count: number) => void)[] = [];
  let current = typeof replicas === 'number' ? replicas : 1;
  channel.on('replica_count', ({ count }) => {
    if (count === current) return;
    current = count;
    for (const listener of listeners) listener(count);
  });
  return {
    get current() {
      return current;
    },
    onChange: (listener) => void listeners.push(listener),
    close: () => {},
  };
}
