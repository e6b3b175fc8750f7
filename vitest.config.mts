import { defineConfig, type ViteUserConfig } from 'vitest/config';
import { requirements } from './tests/requirements/manifest.ts';
import RepositoryReporter from './tests/setup/reporter.ts';

const config: ViteUserConfig = defineConfig({
  test: {
    include: ['packages/**/*.test.ts', 'tests/**/*.test.ts'],
    globalSetup: 'tests/setup/postgres.ts',
    setupFiles: 'tests/setup/drop-databases.ts',
    reporters: [new RepositoryReporter()],
    tags: requirements.map(({ id, says }) => ({ name: id, description: says })),
    pool: 'forks',
    maxWorkers: 2,
    testTimeout: 20_000,
    hookTimeout: 60_000,
    teardownTimeout: 30_000,
  },
});

export default config;
