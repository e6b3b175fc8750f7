import { join } from 'node:path';
import { defineConfig, type ViteUserConfig } from 'vitest/config';
import RepositoryReporter from '../../setup/reporter.ts';

/** What is under ops/, judged by Prometheus. */
const config: ViteUserConfig = defineConfig({
  test: {
    root: join(import.meta.dirname, '../../..'),
    reporters: [new RepositoryReporter()],
    include: ['tests/ops/programs/**/*.test.ts'],
    globalSetup: 'tests/setup/postgres.ts',
    setupFiles: 'tests/setup/drop-databases.ts',
    pool: 'forks',
    maxWorkers: 2,
    testTimeout: 60_000,
    // What is polled for comes; how long it may take on a busy machine is no promise.
    expect: { poll: { timeout: 50_000 } },
    hookTimeout: 60_000,
    teardownTimeout: 30_000,
  },
});

export default config;
