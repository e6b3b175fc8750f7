// Who may import whom: `npm run check:imports`. Imports of types count like all others: what a folder needs to
// know is what it depends on, whether or not anything of it is left when the program runs.
// A type written as import('...').Type would go unseen; the linter refuses it, and process.env in most places.

/** Which folders and files a folder may use besides itself, `protocol`, `edge` and `identity`. The files above the folders may use all. */
const FOLDERS = {
  // gateway: from what is known of everybody to what answers somebody.
  'gateway/telemetry': ['gateway/config'],
  'gateway/network': [],
  'gateway/config': ['gateway/auth', 'gateway/network'],
  'gateway/cli': ['gateway/auth/api-keys'],
  'gateway/access': ['gateway/network'],
  'gateway/http': ['gateway/access', 'gateway/network', 'gateway/telemetry'],
  'gateway/auth': ['gateway/access', 'gateway/http', 'gateway/telemetry'],
  'gateway/agents': ['gateway/access', 'gateway/http', 'gateway/catalog', 'gateway/telemetry'],
  'gateway/catalog': ['gateway/auth', 'gateway/telemetry'],
  'gateway/calls': ['gateway/access', 'gateway/agents', 'gateway/auth', 'gateway/catalog'],
  'gateway/api': [
    'gateway/access',
    'gateway/config',
    'gateway/http',
    'gateway/auth',
    'gateway/calls',
    'gateway/catalog',
    'gateway/agents',
    'gateway/network',
    'gateway/telemetry',
  ],
  // What there is of each service, and what the processes of a replica share.
  'gateway/services': [
    'gateway/access',
    'gateway/api',
    'gateway/agents',
    'gateway/auth',
    'gateway/calls',
    'gateway/catalog',
    'gateway/config',
    'gateway/http',
    'gateway/telemetry',
    'gateway/workers',
  ],
  'gateway/workers': ['gateway/config', 'gateway/auth', 'gateway/telemetry'],
  'gateway/siblings': ['gateway/agents', 'gateway/catalog', 'gateway/telemetry', 'gateway/workers'],
  'gateway/console': [
    'gateway/access',
    'gateway/config',
    'gateway/http',
    'gateway/network',
    'gateway/services',
    'gateway/telemetry',
    'gateway/workers',
  ],
  'gateway/shared-state': ['gateway/access', 'gateway/config', 'gateway/telemetry', 'gateway/workers'],
  'gateway/replicas': ['gateway/config', 'gateway/telemetry', 'gateway/workers'],
  // agent: the file, what it means, what runs it.
  'agent/telemetry': [],
  'agent/capabilities': [],
  'agent/config': ['agent/capabilities', 'agent/databases'],
  'agent/cli': [
    'agent/config',
    'agent/capabilities',
    'agent/databases',
    'agent/examples',
    'agent/lint',
    'agent/reload',
    'agent/diff',
    'agent/trial',
    'agent/start-up',
    'agent/telemetry',
    'agent/workbench',
    'agent/workers',
    'agent/proposals',
    'agent/agent.ts',
  ],
  // What the agent says to processes of its own, and they to it.
  'agent/process-messages': [],
  'agent/databases': ['agent/capabilities', 'agent/process-messages'],
  'agent/gateway-link': [],
  'agent/calls': ['agent/capabilities', 'agent/databases', 'agent/gateway-link', 'agent/telemetry'],
  'agent/workers': ['agent/databases', 'agent/process-messages'],
  'agent/examples': ['agent/capabilities'],
  'agent/lint': ['agent/capabilities', 'agent/databases', 'agent/proposals'],
  'agent/reload': [
    'agent/calls',
    'agent/capabilities',
    'agent/config',
    'agent/databases',
    'agent/gateway-link',
    'agent/start-up',
    'agent/telemetry',
  ],
  'agent/diff': ['agent/config', 'agent/capabilities', 'agent/start-up'],
  'agent/proposals': ['agent/databases', 'agent/capabilities'],
  'agent/workbench': [
    'agent/capabilities',
    'agent/config',
    'agent/databases',
    'agent/lint',
    'agent/reload',
    'agent/start-up',
    'agent/telemetry',
  ],
  'agent/trial': [
    'agent/calls',
    'agent/capabilities',
    'agent/config',
    'agent/databases',
    'agent/gateway-link',
    'agent/start-up',
    'agent/telemetry',
  ],
  'agent/start-up': [
    'agent/config',
    'agent/capabilities',
    'agent/databases',
    'agent/lint',
    'agent/telemetry',
  ],
};

/** Where the outside world may be touched: each library in one place. */
const LIBRARIES = {
  ws: ['gateway/src/agents/endpoint.ts', 'agent/src/gateway-link/connection.ts'],
  pg: ['agent/src/databases/postgres/'],
  mysql2: ['agent/src/databases/mysql/'],
  'pg-protocol': ['agent/src/databases/postgres/connection/'],
  'libpg-query': ['agent/src/databases/postgres/verify/'],
  bcryptjs: ['gateway/src/auth/api-keys/'],
  jose: ['identity/src/'],
  '@redis/client': ['gateway/src/shared-state/'],
  'sonic-boom': ['edge/src/log/'],
  'prom-client': ['edge/src/metrics/'],
  '@opentelemetry': ['edge/src/traces/'],
  yaml: ['agent/src/config/yaml/'],
  '@clack/prompts': ['agent/src/cli/init/ask.ts'],
};

/** Decisions that a test can go through in any order, because nothing acts in them. */
const PURE = [
  'protocol/src/link/liveness.ts',
  'protocol/src/frames/decode.ts',
  'protocol/src/frames/encode.ts',
  'gateway/src/agents/handshake.ts',
  'gateway/src/agents/unauthenticated.ts',
  'gateway/src/access/rate-limit.ts',
  'gateway/src/shared-state/leased-limiter.ts',
  'gateway/src/auth/permission.ts',
  'agent/src/gateway-link/back-off.ts',
  'agent/src/gateway-link/handshake.ts',
  'agent/src/gateway-link/link-keeper.ts',
  'agent/src/gateway-link/link-plan.ts',
  'agent/src/gateway-link/targets.ts',
  'agent/src/proposals/propose.ts',
  'agent/src/proposals/render/capability-file.ts',
];

/** What a request can fail with is the language of all folders of the gateway. */
const EVERYBODYS = [
  '^packages/gateway/src/calls/call-error\\.ts$',
  '^packages/gateway/src/services/service-id\\.ts$',
];

const SHIPPED = '^packages/(?:protocol|edge|identity|gateway|agent)/src/';
const TEST_CODE = ['\\.(?:test|testing|fixture)\\.ts$', '-for-test\\.ts$', '^packages/testkit/'];
/** What the pages of the console are told: types alone. */
const CONSOLE_DATA = '^packages/console/src/data\\.ts$';
const SHARED = '^packages/(?:protocol|edge|identity)/';

const DATABASES = '^packages/agent/src/databases/';
const POSTGRES = `${DATABASES}postgres/`;
const VERIFIERS = [`${DATABASES}[^/]+/(?:verify|audit)/`, `${DATABASES}[^/]+/verifier\\.ts$`];

const file = (path) => `^packages/${path.replaceAll('.', '\\.')}`;
/** `gateway/http` is a folder, `agent/agent.ts` one of the files above the folders. */
const folder = (name) => `${file(name.replace('/', '/src/'))}${name.endsWith('.ts') ? '$' : '/'}`;
const forbid = (name, comment, from, to) => ({ name, comment, severity: 'error', from, to });
const shipped = (pathNot = []) => ({ path: SHIPPED, pathNot: [...TEST_CODE, ...pathNot] });

export default {
  forbidden: [
    forbid(
      'no-circle',
      'Files that import each other can only be understood, tested and moved together.',
      {},
      { circular: true },
    ),
    forbid(
      'resolvable',
      'What cannot be found cannot be judged. The peers of the benchmarks are installed when they first run.',
      { pathNot: '^bench/peers/' },
      { couldNotResolve: true },
    ),
    forbid('no-test-code', 'Executables hold nothing that only tests use.', shipped(), { path: TEST_CODE }),
    forbid(
      'shared-packages',
      'protocol and edge know neither of the programs, nor each other.',
      { path: '^packages/(protocol|edge)/src/', pathNot: TEST_CODE },
      { path: '^packages/', pathNot: '^packages/$1/' },
    ),
    forbid(
      'pages-apart',
      'What runs in browsers knows nothing of the programs.',
      { path: '^packages/console/src/' },
      { path: '^packages/', pathNot: '^packages/console/' },
    ),
    forbid(
      'identity-is-shared',
      'Both programs check tokens by the same code, which knows neither of them.',
      { path: '^packages/identity/src/', pathNot: TEST_CODE },
      { path: '^packages/', pathNot: '^packages/(?:identity|protocol|edge)/' },
    ),
    forbid(
      'own-program',
      'gateway and agent never import each other.',
      { path: '^packages/(gateway|agent)/src/', pathNot: TEST_CODE },
      { path: '^packages/', pathNot: [SHARED, CONSOLE_DATA, '^packages/$1/'] },
    ),
    forbid(
      'folder-unknown',
      'Every folder has a line in FOLDERS that says what it may use.',
      {
        path: '^packages/(?:gateway|agent)/src/[^/]+/',
        pathNot: [...TEST_CODE, ...Object.keys(FOLDERS).map(folder)],
      },
      {},
    ),
    ...Object.entries(FOLDERS).map(([name, allowed]) =>
      forbid(
        `folder:${name}`,
        'FOLDERS says what a folder may use.',
        { path: folder(name), pathNot: TEST_CODE },
        {
          path: '^packages/',
          pathNot: [SHARED, CONSOLE_DATA, ...TEST_CODE, ...EVERYBODYS, ...[name, ...allowed].map(folder)],
        },
      ),
    ),
    forbid(
      'key-records',
      'Only auth, the configuration and what hands it out know key records; all others know principals.',
      {
        path: folder('gateway/[^/]+'),
        pathNot: [...TEST_CODE, '^packages/gateway/src/(?:auth|config|cli|services|workers)/'],
      },
      { path: folder('gateway/auth/api-keys') },
    ),
    forbid(
      'api-kinds-apart',
      'REST, OpenAPI and MCP meet in calls and catalog only.',
      { path: '^packages/gateway/src/api/([^/]+)/', pathNot: TEST_CODE },
      { path: '^packages/gateway/src/api/', pathNot: '^packages/gateway/src/api/$1/' },
    ),
    forbid(
      'driver-list',
      'Only the list of drivers and the drivers themselves know which databases there are.',
      { path: SHIPPED, pathNot: [...TEST_CODE, `${DATABASES}drivers\\.ts$`, `${DATABASES}[^/]+/`] },
      {
        path: `${DATABASES}(?!sql/|sessions/|engine-process/|conformance/)[^/]+/`,
        pathNot: `${DATABASES}[^/]+/config-schema\\.ts$`,
      },
    ),
    forbid(
      'drivers-apart',
      'No driver imports another; what they share stands in the files beside them, in sql, sessions and engine-process.',
      { path: `${DATABASES}(?!conformance/)([^/]+)/`, pathNot: TEST_CODE },
      {
        path: DATABASES,
        pathNot: [
          `${DATABASES}$1/`,
          `${DATABASES}(?:sql|sessions|engine-process)/`,
          `${DATABASES}(?:driver|catalog|describe-statement|explain|errors)\\.ts$`,
        ],
      },
    ),
    forbid(
      'shared-sql',
      'sql knows dialects by what it is told, not by their drivers.',
      {
        path: `${DATABASES}(?:sql/|(?:driver|catalog|describe-statement|explain|errors)\\.ts$)`,
        pathNot: TEST_CODE,
      },
      { path: `${DATABASES}(?!sql/|(?:driver|catalog|describe-statement|explain|errors)\\.ts$)` },
    ),
    forbid(
      'conformance-is-for-tests',
      'The suite of the drivers is no part of an executable.',
      { path: SHIPPED, pathNot: [...TEST_CODE, `${DATABASES}conformance/`] },
      { path: `${DATABASES}conformance/` },
    ),
    forbid(
      'config-knows-drivers-only',
      'The file is read before anything dials: of a driver it needs the section of the file.',
      { path: '^packages/agent/src/config/', pathNot: TEST_CODE },
      { path: DATABASES, pathNot: [`${DATABASES}drivers?\\.ts$`, `${DATABASES}[^/]+/config-schema\\.ts$`] },
    ),
    // postgres: connection <- pool <- execute <- connect; verify and audit stand on all of them.
    forbid(
      'postgres-connection',
      'Messages and sessions know nothing of pools, statements and capabilities.',
      { path: `${POSTGRES}connection/`, pathNot: TEST_CODE },
      { path: `${POSTGRES}(?:pool|execute|verify|audit)/` },
    ),
    forbid(
      'postgres-pool',
      'The pool hands out sessions; what runs on them is not its matter.',
      { path: `${POSTGRES}pool/`, pathNot: TEST_CODE },
      { path: `${POSTGRES}(?:execute|verify|audit)/` },
    ),
    forbid(
      'postgres-execute',
      'A call needs the plan that verification made, not the parser that made it.',
      { path: `${POSTGRES}execute/`, pathNot: TEST_CODE },
      { path: [`${POSTGRES}(?:verify|audit)/`, '(?:^|/)node_modules/libpg-query/'], reachable: true },
    ),
    forbid(
      'no-parser-in-main',
      'The SQL parser costs 60 MB for the life of a process: only the child of the start loads it, through `loadVerifier`.',
      { path: SHIPPED, pathNot: [...TEST_CODE, ...VERIFIERS] },
      { path: VERIFIERS, dynamic: false },
    ),
    ...Object.entries(LIBRARIES).map(([name, places]) =>
      forbid(`library:${name}`, 'LIBRARIES says where a library may be used.', shipped(places.map(file)), {
        path: `(?:^|/)node_modules/(?:@types/)?${name}/`,
      }),
    ),
    forbid(
      'pure',
      'What only decides imports nothing that acts, nor anything that does.',
      { path: PURE.map(file) },
      {
        path: ['^(?:node:)?(?!crypto$)[a-z_/]+$', '(?:^|/)node_modules/(?:ws|pg|sonic-boom)/'],
        reachable: true,
      },
    ),
  ],
  options: {
    // Without swc, this version could read TypeScript only through the API of TypeScript 6 or older.
    parser: 'swc',
    tsPreCompilationDeps: true,
    // Nor could swc read the markup in them; they import their own folder and what package.json there names.
    exclude: { path: '^packages/console/src/.+\\.tsx$' },
    doNotFollow: { path: '(?:^|/)node_modules/' },
    enhancedResolveOptions: { exportsFields: ['exports'], conditionNames: ['import', 'node', 'default'] },
  },
};
