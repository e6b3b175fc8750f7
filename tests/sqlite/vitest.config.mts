import { join } from 'node:path';
import { defineConfig, type ViteUserConfig } from 'vitest/config';
import RepositoryReporter from '../setup/reporter.ts';

/** The driver of SQLite, in a Node.js that has SQLite. */
const config: ViteUserConfig = defineConfig({
  test: {
    root: join(import.meta.dirname, '../..'),
    reporters: [new RepositoryReporter()],
    include: ['packages/agent/src/databases/sqlite/**/*.test.ts', 'tests/sqlite/**/*.test.ts'],
    setupFiles: 'tests/sqlite/engine-code.ts',
    pool: 'forks',
    isolate: false,
    maxWorkers: 2,
    testTimeout: 60_000,
    // What is polled for comes; how long it may take on a busy machine is no promise.
    expect: { poll: { timeout: 20_000 } },
    hookTimeout: 120_000,
    teardownTimeout: 30_000,
  },
});

export default config;
