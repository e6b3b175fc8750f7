import { join } from 'node:path';
import { defineConfig, type ViteUserConfig } from 'vitest/config';
import RepositoryReporter from '../setup/reporter.ts';

/** The driver of MariaDB and MySQL on real servers. */
const config: ViteUserConfig = defineConfig({
  test: {
    root: join(import.meta.dirname, '../..'),
    reporters: [new RepositoryReporter()],
    include: ['packages/agent/src/databases/mysql/**/*.test.ts', 'tests/mysql/**/*.test.ts'],
    globalSetup: ['tests/mysql/servers.ts', 'tests/setup/postgres.ts'],
    setupFiles: 'tests/setup/drop-databases.ts',
    pool: 'forks',
    isolate: false,
    maxWorkers: 2,
    testTimeout: 120_000,
    // What is polled for comes; how long it may take on a busy machine is no promise.
    expect: { poll: { timeout: 20_000 } },
    hookTimeout: 120_000,
    teardownTimeout: 30_000,
  },
});

export default config;
