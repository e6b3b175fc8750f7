import { expect, test } from 'vitest';
import { requirements } from './manifest.ts';

test('every id is there once', () => {
  const ids = requirements.map(({ id }) => id);
  expect(ids.filter((id, index) => ids.indexOf(id) !== index)).toEqual([]);
  expect(ids.length).toBeGreaterThan(200);
});
