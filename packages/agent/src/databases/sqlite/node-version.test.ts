import { expect, test } from 'vitest';
import { problemOfNode } from './node-version.ts';

test.each(['20.20.0', '22.15.1', '23.10.0', '18.0.0'])('Node.js %s lacks what the driver uses', (version) => {
  expect(problemOfNode(version)).toContain(`this is ${version}`);
});

test.each(['22.16.0', '23.11.0', '24.0.0', '26.10.0'])('Node.js %s has it', (version) => {
  expect(problemOfNode(version)).toBeUndefined();
});
