import { expect, test } from 'vitest';
import type { CallerShare } from '../../driver/driver.ts';
import { LatencyByCaller } from './latency-tracker.ts';

function callerOf(isAlone = false): CallerShare {
  return { isAlone, most: (capacity) => capacity, spare: () => 0 };
}

test('a caller whose runs take long beside others does not change what is expected of theirs', () => {
  const latencies = new LatencyByCaller();
  const [quick, slow, third] = [callerOf(), callerOf(), callerOf()];
  for (let run = 0; run < 8; run++) latencies.record(quick, 1, true);
  // Values that take long may be new to this caller: what was known of all holds until its runs say otherwise.
  expect(latencies.of(slow).shortMs).toBeDefined();
  for (let run = 0; run < 3; run++) latencies.record(slow, 500, true);
  expect(latencies.of(slow).shortMs).toBeUndefined();
  for (const other of [quick, third, undefined]) expect(latencies.of(other).shortMs).toBeDefined();
  // Nor do theirs make its own short, but its own do.
  for (let run = 0; run < 8; run++) latencies.record(quick, 1, true);
  expect(latencies.of(slow).shortMs).toBeUndefined();
  for (let run = 0; run < 3; run++) latencies.record(slow, 1, true);
  expect(latencies.of(slow).shortMs).toBeDefined();
});

test('a caller that is alone has no record of its own', () => {
  const latencies = new LatencyByCaller();
  const alone = callerOf(true);
  for (let run = 0; run < 3; run++) latencies.record(alone, 1, true);
  expect(latencies.of(undefined).shortMs).toBeDefined();
  latencies.record(alone, 500, true);
  expect(latencies.of(undefined).shortMs).toBeUndefined();
});
