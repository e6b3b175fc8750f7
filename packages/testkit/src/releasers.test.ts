import { expect, test } from 'vitest';
import { createReleasers } from './releasers.ts';

test('releases the last first, once', async () => {
  const order: string[] = [];
  const releasers = createReleasers();
  await releasers.add(async () => order.push('first'));
  await releasers.add(async () => order.push('second'));
  await Promise.all([releasers.closeAll(), releasers.closeAll()]);
  await releasers.closeAll();
  expect(order).toEqual(['second', 'first']);
});

test('a failure is reported and stops nothing', async () => {
  const order: string[] = [];
  const releasers = createReleasers();
  await releasers.add(async () => order.push('first'));
  await releasers.add(() => Promise.reject(new Error('stuck')));
  await expect(releasers.closeAll()).rejects.toThrow('stuck');
  expect(order).toEqual(['first']);
});

test('what comes too late is released at once', async () => {
  const releasers = createReleasers();
  await releasers.closeAll();
  let released = false;
  await releasers.add(async () => (released = true));
  expect(released).toBe(true);
});
