import { expect, it } from 'vitest';
import { claimAt } from './judge-claims.ts';

it.each<[readonly string[], unknown]>([
  [['a'], { b: [1] }],
  [['a', 'b'], [1]],
  [['a', 'b', '0'], undefined],
  [['a', 'b', 'length'], undefined],
  [['a.b'], undefined],
  [['a', 'c'], undefined],
  [['text', 'length'], undefined],
  [['constructor'], undefined],
  [['__proto__'], undefined],
  [['a', 'toString'], undefined],
])('at %j stands %j', (path, value) => {
  expect(claimAt({ a: { b: [1] }, text: 'x' }, path)).toEqual(value);
});
