import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** Short files that take half a minute and more: begun last, they would run alone at the end of all. */
const LONG = [
  'tests/agent-reload-watch.test.ts',
  'tests/fleet/programs/links-short.test.ts',
  'tests/fleet/replica-faults.test.ts',
  'tests/fleet/worker-faults.test.ts',
  'tests/setup/start.test.ts',
  'tests/trust/link-losses.test.ts',
  'tests/trust/link-network.test.ts',
  'tests/trust/link-strangers.test.ts',
  'tests/workers/replica.test.ts',
];

/** Before the first run in a clone the largest files begin first; these go before them. */
export default class LongFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    // oxlint-disable-next-line unicorn/no-array-sort -- the sequencer's own, not an array's
    const sorted = await super.sort(files);
    const isLong = ({ moduleId }: TestSpecification): boolean =>
      LONG.some((path) => moduleId.endsWith(`/${path}`));
    return [...sorted.filter(isLong), ...sorted.filter((file) => !isLong(file))];
  }
}
