import { expect, it } from 'vitest';
import { createExpiringMap } from './expiring-map.ts';

function filled(now: () => number = () => 0) {
  const cache = createExpiringMap<number>({ maxEntries: 3, lifetimeMs: 10, now });
  for (const key of ['a', 'b', 'c']) cache.set(key, key.charCodeAt(0));
  return cache;
}

it('lets the oldest go when it is full', () => {
  const cache = filled();
  expect(['a', 'b', 'c'].map((key) => cache.get(key))).toEqual([97, 98, 99]);
  cache.set('d', 100);
  expect(['a', 'b', 'c', 'd'].map((key) => cache.get(key))).toEqual([undefined, 98, 99, 100]);
});

it('replaces an entry, which is the youngest then', () => {
  const cache = filled();
  cache.set('a', 1);
  cache.set('d', 100);
  expect(['a', 'b', 'c', 'd'].map((key) => cache.get(key))).toEqual([1, undefined, 99, 100]);
});

it('lets each go when its time is up', () => {
  let ms = 0;
  const cache = filled(() => ms);
  ms = 9;
  cache.set('b', 2);
  ms = 10;
  expect(['a', 'b', 'c'].map((key) => cache.get(key))).toEqual([undefined, 2, undefined]);
});

it('forgets one, and all', () => {
  const cache = filled();
  cache.delete('b');
  expect(['a', 'b', 'c'].map((key) => cache.get(key))).toEqual([97, undefined, 99]);
  cache.clear();
  expect(cache.get('a')).toBe(undefined);
});
