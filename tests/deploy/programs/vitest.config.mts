import { join } from 'node:path';
import { defineConfig, type ViteUserConfig } from 'vitest/config';
import RepositoryReporter from '../../setup/reporter.ts';

/** What is under deploy/, judged by the programs that it is for. */
const config: ViteUserConfig = defineConfig({
  test: {
    root: join(import.meta.dirname, '../../..'),
    reporters: [new RepositoryReporter()],
    include: ['tests/deploy/**/*.test.ts'],
    pool: 'forks',
    // Half of their time they wait for checks of balancers.
    maxWorkers: 2,
    testTimeout: 30_000,
    hookTimeout: 30_000,
  },
});

export default config;
