import { join } from 'node:path';
import { defineConfig, type ViteUserConfig } from 'vitest/config';
import RepositoryReporter from '../setup/reporter.ts';

/** Clients that were generated before capabilities changed. */
const config: ViteUserConfig = defineConfig({
  test: {
    root: join(import.meta.dirname, '../..'),
    reporters: [new RepositoryReporter()],
    include: ['tests/clients/*.test.ts'],
    globalSetup: 'tests/setup/postgres.ts',
    setupFiles: 'tests/setup/drop-databases.ts',
    pool: 'forks',
    // Generators and compilers take a minute in all.
    hookTimeout: 300_000,
    testTimeout: 60_000,
    // What is polled for comes; how long it may take on a busy machine is no promise.
    expect: { poll: { timeout: 20_000 } },
  },
});

export default config;
