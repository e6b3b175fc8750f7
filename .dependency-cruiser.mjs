// Who may import whom: `npm run check:imports`. Imports of types count like all others: what a folder needs to
// know is what it depends on, whether or not anything of it is left when the program runs.
// A type written as import('...').Type would go unseen; the linter refuses it, and process.env in most places.

/** Which folders a folder may use besides itself, `protocol` and `edge`. The files above the folders may use all. */
const FOLDERS = {
  'gateway/errors': [],
  'gateway/observe': ['gateway/config'],
  'gateway/config': ['gateway/keys'],
  'gateway/cli': ['gateway/config', 'gateway/keys'],
  'gateway/http': ['gateway/errors', 'gateway/observe', 'gateway/config'],
  'gateway/keys': ['gateway/errors', 'gateway/http', 'gateway/config'],
  'gateway/agents': ['gateway/http', 'gateway/observe'],
  'gateway/calls': ['gateway/errors', 'gateway/agents', 'gateway/keys'],
  'gateway/rest': ['gateway/errors', 'gateway/http', 'gateway/keys', 'gateway/calls'],
  'gateway/mcp': ['gateway/errors', 'gateway/http', 'gateway/keys', 'gateway/calls', 'gateway/agents'],
  'gateway/openapi': [
    'gateway/errors',
    'gateway/http',
    'gateway/keys',
    'gateway/calls',
    'gateway/agents',
    'gateway/observe',
  ],
  'agent/config': ['agent/values'],
  // Only the types of the contract: the values of a parameter are judged alike in the file and in a call.
  'agent/values': ['agent/config'],
  'agent/cli': ['agent/config'],
  'agent/observe': [],
  'agent/link': [],
  'agent/capabilities': ['agent/config', 'agent/values'],
  'agent/databases': ['agent/config'],
  'agent/calls': ['agent/capabilities', 'agent/databases', 'agent/link', 'agent/observe'],
};

/** Where the outside world may be touched: each library in one place. */
const LIBRARIES = {
  ws: ['gateway/src/agents/accept.ts', 'agent/src/link/connection.ts'],
  pg: ['agent/src/databases/postgres/'],
  'pg-protocol': ['agent/src/databases/postgres/'],
  'libpg-query': ['agent/src/databases/postgres/'],
  bcryptjs: ['gateway/src/keys/'],
  pino: ['gateway/src/observe/'],
  'prom-client': ['edge/src/metrics/register.ts'],
  'rotating-file-stream': ['agent/src/observe/'],
  yaml: ['agent/src/config/'],
};

/** Decisions that a test can go through in any order, because nothing acts in them. */
const PURE = [
  'protocol/src/link/liveness.ts',
  'protocol/src/frames/decode.ts',
  'protocol/src/frames/encode.ts',
  'gateway/src/agents/handshake.ts',
  'gateway/src/http/rate-limit.ts',
  'agent/src/link/back-off.ts',
  'agent/src/link/handshake.ts',
];

const SHIPPED = '^packages/(?:protocol|edge|gateway|agent)/src/';
const TEST_CODE = ['\\.(?:test|testing|fixture)\\.ts$', '-for-test\\.ts$', '^packages/testkit/'];
const SHARED = '^packages/(?:protocol|edge)/';

const folder = (name) => `^packages/${name.replace('/', '/src/')}/`;
const file = (path) => `^packages/${path.replaceAll('.', '\\.')}`;
const forbid = (name, comment, from, to) => ({ name, comment, severity: 'error', from, to });
const shipped = (pathNot = []) => ({ path: SHIPPED, pathNot: [...TEST_CODE, ...pathNot] });

export default {
  forbidden: [
    forbid(
      'no-circle',
      'Files that import each other can only be understood, tested and moved together.',
      {},
      // Known: database.ts names a type of its one driver, which puts 21 files into one circle.
      { circular: true, viaOnly: { pathNot: file('agent/src/databases/database.ts') } },
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
      'own-program',
      'gateway and agent never import each other.',
      { path: '^packages/(gateway|agent)/src/', pathNot: TEST_CODE },
      { path: '^packages/', pathNot: [SHARED, '^packages/$1/'] },
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
        { path: '^packages/', pathNot: [SHARED, ...TEST_CODE, ...[name, ...allowed].map(folder)] },
      ),
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
      { path: ['^(?:node:)?(?!crypto$)[a-z_/]+$', '(?:^|/)node_modules/(?:ws|pg|pino)/'], reachable: true },
    ),
  ],
  options: {
    // Without swc, this version could read TypeScript only through the API of TypeScript 6 or older.
    parser: 'swc',
    tsPreCompilationDeps: true,
    doNotFollow: { path: '(?:^|/)node_modules/' },
    enhancedResolveOptions: { exportsFields: ['exports'], conditionNames: ['import', 'node', 'default'] },
  },
};
