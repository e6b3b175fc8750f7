import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** They take the longest, and wait most of that time: begun last, they would run alone at the end. */
const LONG = [
  'tests/init.test.ts',
  'tests/databases-away.test.ts',
  'tests/requirements/recovery.test.ts',
  'tests/requirements/agents.test.ts',
  'tests/requirements/command-log.test.ts',
  'tests/console/attacks.test.ts',
  'tests/agent-workers.test.ts',
  'tests/requirements/start-up.test.ts',
  'tests/several-databases.test.ts',
  'databases/postgres/connection/hostile-server.test.ts',
  'tests/duckdb.test.ts',
  'tests/requirements/shutdown.test.ts',
  'tests/trust/link-losses.test.ts',
  'tests/agent-reload-watch.test.ts',
  'tests/setup/start.test.ts',
  'tests/traces/traces.test.ts',
  'tests/workers/replica.test.ts',
  'tests/trust/fair-turns.test.ts',
  'databases/duckdb/conformance.test.ts',
  'tests/fleet/programs/links-short.test.ts',
  'tests/fleet/replica-faults.test.ts',
  'tests/fleet/worker-faults.test.ts',
  'src/http/stalled-readers.test.ts',
  'tests/trust/link-network.test.ts',
  'tests/trust/link-strangers.test.ts',
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
