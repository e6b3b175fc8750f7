// Who may import whom: `npm run check:imports`. Imports of types count like all others: what a folder needs to
// know is what it depends on, whether or not anything of it is left when the program runs.
// A type written as import('...').Type would go unseen; the linter refuses it, and process.env in most places.

/** The rooms of each package from the bottom up: a room imports itself and those before it. Files directly in `src` stand above all. */
const ROOMS = {
  protocol: ['rules', 'json', 'handshake', 'frames', 'link'],
  edge: ['waiting', 'text', 'process', 'cli', 'log', 'network', 'proxy', 'metrics', 'traces', 'console'],
  identity: ['model', 'keys', 'config', 'verify'],
  gateway: [
    'core',
    'network',
    'access',
    'telemetry',
    'http',
    'auth',
    'config',
    'catalog',
    'agents',
    'cluster',
    'calls',
    'api',
    'valkey',
    'services',
    'console',
    'cli',
  ],
  agent: [
    'capabilities',
    'process-messages',
    'databases',
    'config',
    'telemetry',
    'proposals',
    'lint',
    'start-up',
    'calls',
    'gateway-link',
    'workers',
    'reload',
    'workbench',
    'trial',
    'diff',
    'examples',
    'runtime',
    'cli',
  ],
  standalone: ['local-link', 'stdio', 'serve', 'cli'],
};

/** The same of each engine, whose rooms are folders too. */
const ENGINE_ROOMS = [
  'config',
  'dialect',
  'engine',
  'connection',
  'pool',
  'execute',
  'verify',
  'audit',
  'explain',
  'catalog',
];

/** Where the outside world may be touched: each library in one place. */
const LIBRARIES = {
  ws: ['gateway/src/agents/endpoint.ts', 'agent/src/gateway-link/connection.ts'],
  pg: ['agent/src/databases/postgres/'],
  mysql2: ['agent/src/databases/mysql/'],
  'pg-protocol': ['agent/src/databases/postgres/connection/'],
  'libpg-query': ['agent/src/databases/postgres/verify/'],
  bcryptjs: ['gateway/src/auth/api-keys/'],
  jose: ['identity/src/'],
  '@redis/client': ['gateway/src/valkey/'],
  'sonic-boom': ['edge/src/log/'],
  'prom-client': ['edge/src/metrics/'],
  '@opentelemetry': ['edge/src/traces/'],
  yaml: ['agent/src/config/yaml/'],
  '@clack/prompts': ['agent/src/cli/init/init-command.ts'],
};

/** Decisions that a test can go through in any order, because nothing acts in them. */
const PURE = [
  'protocol/src/link/liveness.ts',
  'protocol/src/frames/decode.ts',
  'protocol/src/frames/encode.ts',
  'gateway/src/agents/handshake.ts',
  'gateway/src/agents/unauthenticated.ts',
  'gateway/src/access/rate-limit.ts',
  'gateway/src/valkey/leased-limiter.ts',
  'gateway/src/core/permission.ts',
  'agent/src/gateway-link/back-off.ts',
  'agent/src/gateway-link/handshake.ts',
  'agent/src/gateway-link/link-keeper.ts',
  'agent/src/gateway-link/link-slots.ts',
  'agent/src/gateway-link/targets.ts',
  'agent/src/proposals/propose.ts',
  'agent/src/proposals/render/capability-file.ts',
];

const SHIPPED = '^packages/(?:protocol|edge|identity|gateway|agent|standalone)/src/';
const TEST_CODE = ['\\.(?:test|testing|fixture)\\.ts$', '^packages/testkit/'];
/** What the pages of the console are told: types alone. */
const CONSOLE_DATA = '^packages/console/src/data\\.ts$';
const SHARED = '^packages/(?:protocol|edge|identity)/';

const DATABASES = '^packages/agent/src/databases/';
const POSTGRES = `${DATABASES}postgres/`;
const VERIFIERS = [`${DATABASES}[^/]+/(?:verify|audit)/`, `${DATABASES}[^/]+/verifier\\.ts$`];

const ENGINES = ['postgres', 'mysql', 'sqlite', 'duckdb'];

const file = (path) => `^packages/${path.replaceAll('.', '\\.')}`;
/** `gateway/http` is a folder, `agent/main.ts` one of the files above the folders. */
const folder = (name) => `${file(name.replace('/', '/src/'))}${name.endsWith('.ts') ? '$' : '/'}`;
const forbid = (name, comment, from, to) => ({ name, comment, severity: 'error', from, to });
const shipped = (pathNot = []) => ({ path: SHIPPED, pathNot: [...TEST_CODE, ...pathNot] });

/** A rule for each room below `parent`: what it may not import are the rooms above it and the files beside them. */
function goDown(parent, rooms, name) {
  return rooms.map((room, at) =>
    forbid(
      `room:${name}/${room}`,
      'An import goes down or stays: ROOMS has the order.',
      { path: `${parent}${room}/`, pathNot: TEST_CODE },
      {
        path: [`${parent}[^/]+$`, ...rooms.slice(at + 1).map((above) => `${parent}${above}/`)],
        pathNot: TEST_CODE,
      },
    ),
  );
}

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
      'standalone-by-libraries',
      'Of gateway and agent the one process knows what their libraries name.',
      { path: '^packages/standalone/src/', pathNot: TEST_CODE },
      {
        path: '^packages/',
        pathNot: [
          SHARED,
          '^packages/standalone/',
          '^packages/(?:gateway|agent)/src/(?:mcp-|checks-)?library\\.ts$',
        ],
      },
    ),
    forbid(
      'room-unknown',
      'Every folder of a package has its place in ROOMS.',
      {
        path: `${SHIPPED}[^/]+/`,
        pathNot: [
          ...TEST_CODE,
          ...Object.entries(ROOMS).flatMap(([name, rooms]) => rooms.map((room) => folder(`${name}/${room}`))),
        ],
      },
      {},
    ),
    ...Object.entries(ROOMS).flatMap(([name, rooms]) => goDown(`^packages/${name}/src/`, rooms, name)),
    ...ENGINES.flatMap((engine) => goDown(`${DATABASES}${engine}/`, ENGINE_ROOMS, engine)),
    forbid(
      'key-records',
      'Only auth, the configuration and what hands it out know key records; all others know principals.',
      {
        path: folder('gateway/[^/]+'),
        pathNot: [...TEST_CODE, '^packages/gateway/src/(?:auth|config|cli|services|cluster)/'],
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
        path: `${DATABASES}(?!driver/|sql/|clauses/|sessions/|engine-process/|conformance/)[^/]+/`,
      },
    ),
    forbid(
      'drivers-apart',
      'No driver imports another; what they share stands in driver, sql, clauses, sessions and engine-process.',
      { path: `${DATABASES}(?!conformance/)([^/]+)/`, pathNot: TEST_CODE },
      {
        path: DATABASES,
        pathNot: [
          `${DATABASES}$1/`,
          `${DATABASES}(?:sql|clauses|sessions|engine-process)/`,
          `${DATABASES}driver/`,
        ],
      },
    ),
    forbid(
      'shared-sql',
      'sql knows dialects by what it is told, not by their drivers.',
      {
        path: `${DATABASES}(?:sql|driver)/`,
        pathNot: TEST_CODE,
      },
      { path: `${DATABASES}(?!sql/|driver/)` },
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
      {
        path: DATABASES,
        pathNot: [`${DATABASES}drivers\\.ts$`, `${DATABASES}driver/`],
      },
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
