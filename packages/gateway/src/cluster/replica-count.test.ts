import type { LookupAddress } from 'node:dns';
import { afterEach, expect, test, vi } from 'vitest';
import type { GatewayEvent } from '../telemetry/events.ts';
import type { ReplicaCount } from './replica-count.ts';
import { createReplicaCount } from './replica-count.ts';

let count: ReplicaCount;
afterEach(() => {
  count.close();
  vi.useRealTimers();
});

const v4 = (...hosts: number[]): LookupAddress[] =>
  hosts.map((host) => ({ address: `192.0.2.${host}`, family: 4 }));
const v6 = (...hosts: number[]): LookupAddress[] =>
  hosts.map((host) => ({ address: `2001:db8::${host}`, family: 6 }));

test('a number is what it is', () => {
  count = createReplicaCount(3, { observe: () => {} });
  expect(count.current).toBe(3);
});

test('the addresses of a name are counted every 5 s; what cannot be looked up leaves the last count', async () => {
  vi.useFakeTimers();
  const answers: (LookupAddress[] | string)[] = [
    v4(1, 2, 2),
    v4(1, 2, 3),
    'no answer',
    [],
    v4(3, 1, 2),
    [...v4(1, 2), ...v6(1, 2)],
    [...v4(1), ...v6(1, 2, 3, 4)],
  ];
  const asked: string[] = [];
  const events: GatewayEvent[] = [];
  const changes: number[] = [];
  count = createReplicaCount(
    { dnsName: 'gw.example' },
    {
      observe: (event) => events.push(event),
      async resolve(name) {
        const answer = answers[asked.push(name) - 1] ?? [];
        if (typeof answer === 'string') throw new Error(answer);
        return answer;
      },
    },
  );
  count.onChange((to) => changes.push(to));
  expect(count.current).toBe(1);
  const counts: number[] = [];
  for (const { length } of answers) {
    expect(length).toBeGreaterThanOrEqual(0);
    await vi.advanceTimersByTimeAsync(0);
    counts.push(count.current);
    await vi.advanceTimersByTimeAsync(4999);
    expect(asked.length).toBe(counts.length);
    await vi.advanceTimersByTimeAsync(1);
  }
  expect(counts).toEqual([2, 3, 3, 3, 3, 2, 4]);
  expect(changes).toEqual([2, 3, 2, 4]);
  expect(new Set(asked)).toEqual(new Set(['gw.example']));
  expect(events.map(({ event }) => event)).toEqual([
    'fleet_changed',
    'fleet_changed',
    'replicas_lookup_failed',
    'replicas_lookup_back',
    'fleet_changed',
    'fleet_changed',
    'replicas_lookup_failed',
  ]);
  expect(events[2]).toMatchObject({ name: 'gw.example', reason: 'no answer', replicas: 3 });
});

test('a slow lookup is not asked again before it has ended, and means nothing after the end', async () => {
  vi.useFakeTimers();
  let asked = 0;
  let answer: (addresses: LookupAddress[]) => void = () => {};
  const events: GatewayEvent[] = [];
  count = createReplicaCount(
    { dnsName: 'gw.example' },
    {
      observe: (event) => events.push(event),
      async resolve() {
        asked++;
        return new Promise((resolve) => (answer = resolve));
      },
    },
  );
  await vi.advanceTimersByTimeAsync(60_000);
  expect(asked).toBe(1);
  answer(v4(1, 2));
  await vi.advanceTimersByTimeAsync(1);
  expect([count.current, asked]).toEqual([2, 2]);
  count.close();
  answer(v4(1, 2, 3));
  await vi.advanceTimersByTimeAsync(60_000);
  expect([count.current, asked, events.length]).toEqual([2, 2, 1]);
  expect(vi.getTimerCount()).toBe(0);
});
