import { expect, test } from 'vitest';
import { inProcessWire } from './in-process-wire.testing.ts';
import { createPrimaryChannel } from './primary/primary-channel.ts';
import { startOrder } from './start-order.testing.ts';
import { createWorkerChannel } from './worker/worker-channel.ts';
import { followReplicaCount, shareReplicaCount } from './replica-count.ts';

test('workers count as their primary does, those that join later too', async () => {
  const listeners: ((count: number) => void)[] = [];
  let current = 1;
  const primary = createPrimaryChannel();
  primary.answer('start', () => startOrder());
  shareReplicaCount(primary, {
    get current() {
      return current;
    },
    onChange: (listener) => void listeners.push(listener),
    close: () => {},
  });
  const join = async (worker: number) => {
    const wire = inProcessWire();
    primary.attach(worker, wire.primary);
    const channel = createWorkerChannel(wire.worker);
    const changes: number[] = [];
    const count = followReplicaCount(channel, { dnsName: 'gw' });
    count.onChange((to) => changes.push(to));
    await channel.ask('start', { version: '' });
    return { count, changes };
  };
  const first = await join(0);
  expect(first.count.current).toBe(1);
  current = 3;
  for (const listener of listeners) listener(3);
  const second = await join(1);
  await expect.poll(() => [first.count.current, second.count.current], { interval: 2 }).toEqual([3, 3]);
  expect([first.changes, second.changes]).toEqual([[3], [3]]);
});
