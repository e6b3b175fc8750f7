import { expect, test } from 'vitest';
import { nearestName } from './nearest-name.ts';

const KNOWN = ['max_rows', 'max_bytes', 'timeout', 'port', 'integer', 'string'];

test.each([
  ['max_row', 'max_rows'],
  ['maxbytes', 'max_bytes'],
  ['prot', 'port'],
  ['Timeout', 'timeout'],
  ['int', 'integer'],
  ['integr', 'integer'],
])('%s most likely means %s', (name, meant) => {
  expect(nearestName(name, KNOWN)).toBe(meant);
});

test.each(['', 'x', 'colour', 'retries', 'in'])('%j is near nothing', (name) => {
  expect(nearestName(name, KNOWN)).toBeUndefined();
});
