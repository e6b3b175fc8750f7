import { configDefaults, defineConfig, type ViteUserConfig } from 'vitest/config';
import { requirements } from './tests/requirements/manifest.ts';
import LongFirst from './tests/setup/long-first.ts';
import RepositoryReporter from './tests/setup/reporter.ts';

const database = 'packages/agent/src/databases/**/*.test.ts';
/** They need servers that are unpacked for them: `npm run test:mysql`. */
const mysql = 'packages/agent/src/databases/mysql/**/*-server.test.ts';
/** They need a Node.js that has SQLite: `npm run test:sqlite`. */
const sqlite = 'packages/agent/src/databases/sqlite/**/*-server.test.ts';
/** They need programs of the system, or some that are installed for them: `npm run test:fleet`, `test:chart`, `test:clients`, `test:packages`, `test:ops`, `test:console`, `test:mysql`. */
const withPrograms = [
  'tests/fleet/programs/**',
  'tests/deploy/programs/**',
  'tests/clients/**',
  'tests/packages/**',
  'tests/ops/programs/**',
  'tests/console/browser/**',
  'tests/mysql/**',
];
const processes = ['packages/testkit/**/*.test.ts', 'tests/**/*.test.ts'];

/** One PostgreSQL for the project, and for each file databases of its own on it. */
const withPostgres = {
  globalSetup: 'tests/setup/postgres.ts',
  setupFiles: 'tests/setup/drop-databases.ts',
  pool: 'forks',
  isolate: false,
} as const;

const config: ViteUserConfig = defineConfig({
  test: {
    reporters: [new RepositoryReporter()],
    tags: requirements.map(({ id, says }) => ({ name: id, description: says })),
    sequence: { sequencer: LongFirst },
    maxWorkers: 2,
    // Of what hangs; how long a test takes on a busy machine is no promise.
    testTimeout: 60_000,
    hookTimeout: 120_000,
    teardownTimeout: 30_000,
    // What is polled for comes; how long it may take on a busy machine is no promise.
    expect: { poll: { timeout: 20_000 } },
    projects: [
      {
        extends: true,
        test: {
          name: 'unit',
          include: ['packages/**/*.test.ts'],
          exclude: [database, ...processes],
          pool: 'threads',
          isolate: false,
          sequence: { groupOrder: 0 },
        },
      },
      {
        extends: true,
        test: {
          name: 'database',
          include: [database],
          exclude: [...configDefaults.exclude, mysql, sqlite],
          sequence: { groupOrder: 1 },
          ...withPostgres,
        },
      },
      {
        extends: true,
        test: {
          name: 'service',
          include: processes,
          exclude: [...configDefaults.exclude, ...withPrograms],
          sequence: { groupOrder: 2 },
          // Half of their time they wait for processes and deadlines.
          maxWorkers: 4,
          ...withPostgres,
        },
      },
    ],
  },
});

export default config;
