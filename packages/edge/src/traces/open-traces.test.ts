import { expect, test } from 'vitest';
import { createRandomIds } from './open-traces.ts';

test('ids of either length in turn, none twice', () => {
  const randomId = createRandomIds();
  const ids = Array.from({ length: 1000 }, (_, at) => randomId(at % 2 === 0 ? 32 : 16));
  expect(ids.every((id, at) => (at % 2 === 0 ? /^[0-9a-f]{32}$/ : /^[0-9a-f]{16}$/).test(id))).toBe(true);
  expect(new Set(ids).size).toBe(1000);
});
