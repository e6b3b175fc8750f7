import { join } from 'node:path';
import { defineConfig, type ViteUserConfig } from 'vitest/config';
import LongFirst from '../../setup/long-first.ts';
import RepositoryReporter from '../../setup/reporter.ts';

/** What a fleet does when parts of it fail, with real balancers, name servers, networks and Valkey. */
const config: ViteUserConfig = defineConfig({
  test: {
    root: join(import.meta.dirname, '../../..'),
    reporters: [new RepositoryReporter()],
    include: ['tests/fleet/programs/**/*.test.ts'],
    globalSetup: 'tests/setup/postgres.ts',
    setupFiles: 'tests/setup/drop-databases.ts',
    pool: 'forks',
    sequence: { sequencer: LongFirst },
    // Most of their time they wait for deadlines.
    maxWorkers: 3,
    testTimeout: 120_000,
    // What is polled for comes; how long it may take on a busy machine is no promise.
    expect: { poll: { timeout: 20_000 } },
    hookTimeout: 120_000,
    teardownTimeout: 30_000,
  },
});

export default config;
