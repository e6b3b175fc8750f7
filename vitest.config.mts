import {
  configDefaults,
  defineConfig,
  type TestProjectInlineConfiguration,
  type ViteUserConfig,
} from 'vitest/config';
import { requirements } from './tests/requirements/manifest.ts';
import LongFirst from './tests/setup/long-first.ts';
import RepositoryReporter from './tests/setup/reporter.ts';

type Options = NonNullable<TestProjectInlineConfiguration['test']>;

const database = 'packages/agent/src/databases/**/*.test.ts';
const mysql = 'packages/agent/src/databases/mysql/**/*-server.test.ts';
const sqlite = 'packages/agent/src/databases/sqlite/**/*-server.test.ts';
/** What no version changes: a server that the test itself plays, and the same suite by other processes. */
const sameOnAll = [
  'connection/hostile-server',
  'workers-conformance',
  'workers-fair-turns',
  'pgbouncer-conformance',
].map((name) => `packages/agent/src/databases/postgres/${name}.test.ts`);
const processes = ['packages/testkit/**/*.test.ts', 'tests/**/*.test.ts'];
const inForks = { pool: 'forks', isolate: false } as const;
const inSqlite = { ...inForks, setupFiles: 'tests/sqlite/engine-code.ts' } as const;
/** One PostgreSQL for the project, and for each file databases of its own on it. */
const postgres = {
  globalSetup: 'tests/setup/postgres.ts',
  setupFiles: 'tests/setup/drop-databases.ts',
} as const;
const mysqlServers = {
  ...inForks,
  globalSetup: ['tests/mysql/servers.ts', 'tests/setup/postgres.ts'],
  setupFiles: postgres.setupFiles,
  testTimeout: 120_000,
};

/** They count what is let through in a second, so they run one after the other, on a machine that does nothing else. */
const inRealTime = 'tests/fleet/programs/valkey/{limits,twelve-workers}.test.ts';

/** The projects that need programs of the system, or programs that their command installs: `npm run test:NAME`. */
const withPrograms: Readonly<Record<string, Options>> = {
  chart: { include: ['tests/deploy/**/*.test.ts'] },
  clients: { include: ['tests/clients/*.test.ts'], ...postgres, hookTimeout: 300_000 },
  console: {
    include: ['tests/console/browser/*.test.ts'],
    ...postgres,
    testTimeout: 120_000,
    expect: { poll: { timeout: 50_000 } },
  },
  fleet: {
    include: ['tests/fleet/programs/**/*.test.ts'],
    exclude: ['**/node_modules/**', inRealTime],
    ...postgres,
    testTimeout: 120_000,
  },
  limits: { include: [inRealTime], fileParallelism: false, testTimeout: 120_000 },
  mysql: {
    include: ['packages/agent/src/databases/mysql/**/*.test.ts', 'tests/mysql/**/*.test.ts'],
    ...mysqlServers,
  },
  ops: { include: ['tests/ops/programs/**/*.test.ts'], ...postgres, expect: { poll: { timeout: 50_000 } } },
  packages: {
    include: ['tests/packages/*.test.ts'],
    globalSetup: [postgres.globalSetup, 'tests/packages/make-packages.ts'],
    setupFiles: postgres.setupFiles,
    // lintian reads executables of 120 MB.
    testTimeout: 300_000,
    hookTimeout: 300_000,
  },
  sqlite: {
    include: ['packages/agent/src/databases/sqlite/**/*.test.ts', 'tests/sqlite/**/*.test.ts'],
    ...inSqlite,
  },
};

/** What of the engines that npm does not bring `scripts/test.mjs` has found on this machine. */
const engines = new Set(process.env['SVC_TEST_ENGINES']?.split(','));
const notTried = [
  ...(engines.has('mysql')
    ? []
    : ['MariaDB and MySQL, without their servers: `npm run test:mysql` installs and tries them']),
  ...(engines.has('sqlite')
    ? []
    : ['SQLite, which this Node.js does not have: `npm run test:sqlite` installs one and tries it']),
];
/** The projects of `npm test`. */
const standard: Readonly<Record<string, Options>> = {
  unit: {
    include: ['packages/**/*.test.ts', 'bench/{,load/,report/,stdio/}*.test.ts'],
    exclude: [database, ...processes],
    // Not in threads: one that ends can spin for ever in Node.js 20, and the run with it.
    ...inForks,
    // They measure how long callers wait, so they run before the others, and no more of them than processors.
    maxWorkers: 2,
    sequence: { groupOrder: 0 },
  },
  database: {
    include: [database],
    exclude: [
      ...configDefaults.exclude,
      mysql,
      sqlite,
      ...(process.env['SVC_TEST_POSTGRES'] === undefined ? [] : sameOnAll),
    ],
    ...inForks,
    ...postgres,
  },
  service: {
    include: processes,
    exclude: [
      ...configDefaults.exclude,
      ...[
        'clients',
        'console/browser',
        'deploy/programs',
        'fleet/programs',
        'mysql',
        'ops/programs',
        'packages',
      ].map((folder) => `tests/${folder}/**`),
    ],
    ...inForks,
    ...postgres,
  },
  ...(engines.has('mysql') && { mysql: { include: [mysql, 'tests/mysql/**/*.test.ts'], ...mysqlServers } }),
  ...(engines.has('sqlite') && { sqlite: { include: [sqlite], ...inSqlite } }),
};

const only = process.env['SVC_TEST_PROJECT'];
const projects = Object.entries(only === undefined ? standard : { [only]: withPrograms[only] ?? {} });
const config: ViteUserConfig = defineConfig({
  test: {
    reporters: [new RepositoryReporter(only === undefined ? notTried : [])],
    tags: only === undefined ? requirements.map(({ id, says }) => ({ name: id, description: says })) : [],
    sequence: { sequencer: LongFirst, groupOrder: 1 },
    // All projects but the first at once: while tests of processes wait for them and for deadlines, others compute.
    maxWorkers: only === undefined ? 4 : 3,
    // A time limit is for a test that hangs: a busy machine makes any test slow.
    testTimeout: 60_000,
    hookTimeout: 120_000,
    teardownTimeout: 30_000,
    expect: { poll: { timeout: 20_000 } },
    projects: projects.map(([name, options]) => ({ extends: true, test: { name, ...options } })),
  },
});

export default config;
