import { join } from 'node:path';
import { defineConfig, type ViteUserConfig } from 'vitest/config';
import RepositoryReporter from '../setup/reporter.ts';

/** The packages, made twice, looked into, installed and run. */
const config: ViteUserConfig = defineConfig({
  test: {
    root: join(import.meta.dirname, '../..'),
    reporters: [new RepositoryReporter()],
    include: ['tests/packages/*.test.ts'],
    globalSetup: ['tests/setup/postgres.ts', 'tests/packages/make-packages.ts'],
    setupFiles: 'tests/setup/drop-databases.ts',
    pool: 'forks',
    maxWorkers: 2,
    // lintian reads executables of 120 MB.
    testTimeout: 300_000,
    hookTimeout: 300_000,
  },
});

export default config;
