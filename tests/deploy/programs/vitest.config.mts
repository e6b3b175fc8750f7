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
    testTimeout: 60_000,
    // What is polled for comes; how long it may take on a busy machine is no promise.
    expect: { poll: { timeout: 20_000 } },
    hookTimeout: 120_000,
  },
});

export default config;
