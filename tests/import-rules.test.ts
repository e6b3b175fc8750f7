import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');

interface Import {
  readonly file: string;
  readonly specifier: string;
  /** Package and room of the target, for imports inside the workspace. */
  readonly target: string | undefined;
}

/** `packages/gateway/src/http/body.ts` is in room `gateway/http`, `packages/gateway/src/app.ts` in `gateway`. */
function roomOf(file: string): string {
  const [, name = '', , ...path] = file.split('/');
  return path.length > 1 ? `${name}/${path[0] ?? ''}` : name;
}

function sources(folder: string): readonly string[] {
  return readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .map((name) => join(folder, name))
    .filter((name) => name.endsWith('.ts') && !/\.(test|testing|fixture)\.ts$/.test(name));
}

function importsOf(file: string): readonly Import[] {
  const text = readFileSync(join(root, file), 'utf8');
  const found = text.matchAll(
    /^(?:import|export)\b[^;]*?from '([^']+)';|^import '([^']+)';|\bimport\('([^']+)'\)/gm,
  );
  return [...found].map((match) => {
    const specifier = match[1] ?? match[2] ?? match[3] ?? '';
    const target = specifier.startsWith('.')
      ? roomOf(relative(root, join(root, dirname(file), specifier)))
      : specifier.startsWith('@svc/')
        ? specifier.slice('@svc/'.length)
        : undefined;
    return { file, specifier, target };
  });
}

const imports = ['protocol', 'edge', 'gateway', 'agent'].flatMap((name) =>
  sources(`packages/${name}/src`).flatMap(importsOf),
);

/** Which rooms a room may use besides itself and `protocol`. `app`, `main` and `start-up` may use all. */
const ALLOWED: Readonly<Record<string, readonly string[]>> = {
  'gateway/errors': [],
  'gateway/observe': ['gateway/config'],
  'gateway/config': ['gateway/keys'],
  'gateway/cli': ['gateway/config', 'gateway/keys'],
  'gateway/http': ['gateway/errors', 'gateway/observe', 'gateway/config'],
  'gateway/keys': ['gateway/errors', 'gateway/http', 'gateway/config'],
  'gateway/catalog': ['gateway/observe'],
  'gateway/agents': ['gateway/http', 'gateway/observe', 'gateway/catalog'],
  'gateway/calls': ['gateway/errors', 'gateway/agents', 'gateway/keys', 'gateway/catalog'],
  'gateway/rest': ['gateway/errors', 'gateway/http', 'gateway/keys', 'gateway/calls'],
  'gateway/mcp': [
    'gateway/errors',
    'gateway/http',
    'gateway/keys',
    'gateway/calls',
    'gateway/agents',
    'gateway/catalog',
  ],
  'gateway/openapi': [
    'gateway/errors',
    'gateway/http',
    'gateway/keys',
    'gateway/calls',
    'gateway/catalog',
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

test('the import scanner sees what it should', () => {
  expect(imports.length).toBeGreaterThan(100);
  const specifiers = imports.map(({ specifier }) => specifier);
  expect(specifiers).toEqual(expect.arrayContaining(['@svc/protocol', 'prom-client']));
});

test('rooms import only what their place in the house allows', () => {
  const wrong = imports.filter(({ file, target }) => {
    const room = roomOf(file);
    if (target === undefined || target === room) return false;
    if (room.startsWith('protocol') || room.startsWith('edge'))
      return !target.startsWith(room.split('/')[0] ?? '');
    if (target === 'protocol' || target === 'edge') return false;
    if (!room.includes('/')) return !target.startsWith(`${room}/`) && target !== room;
    const allowed = ALLOWED[room];
    return allowed === undefined || !allowed.includes(target);
  });
  expect(wrong.map(({ file, specifier }) => `${file} imports ${specifier}`)).toEqual([]);
});

/** Where the outside world may be touched: each library in one place. */
const ONLY_IN: Readonly<Record<string, readonly string[]>> = {
  ws: ['packages/gateway/src/agents/accept.ts', 'packages/agent/src/link/connection.ts'],
  pg: ['packages/agent/src/databases/postgres/'],
  'libpg-query': ['packages/agent/src/databases/postgres/'],
  bcryptjs: ['packages/gateway/src/keys/'],
  pino: ['packages/gateway/src/observe/'],
  'prom-client': ['packages/edge/src/metrics/register.ts'],
  'rotating-file-stream': ['packages/agent/src/observe/'],
  yaml: ['packages/agent/src/config/'],
};

test('each library is imported in one place', () => {
  const wrong = imports.filter(({ file, specifier }) => {
    const places = ONLY_IN[specifier];
    return places !== undefined && !places.some((place) => file.startsWith(place));
  });
  expect(wrong.map(({ file, specifier }) => `${file} imports ${specifier}`)).toEqual([]);
});

test('process.env is read where a process begins only', () => {
  const readers = ['protocol', 'edge', 'gateway', 'agent']
    .flatMap((name) => sources(`packages/${name}/src`))
    .filter((file) => readFileSync(join(root, file), 'utf8').includes('process.env'));
  expect(readers.toSorted()).toEqual([
    'packages/agent/src/helper.ts',
    'packages/agent/src/main.ts',
    'packages/gateway/src/main.ts',
  ]);
});

test('pure files import nothing that acts', () => {
  const pure = new Set([
    'packages/protocol/src/link/liveness.ts',
    'packages/protocol/src/frames/decode.ts',
    'packages/protocol/src/frames/encode.ts',
    'packages/gateway/src/agents/handshake.ts',
    'packages/gateway/src/http/rate-limit.ts',
    'packages/agent/src/link/back-off.ts',
    'packages/agent/src/link/handshake.ts',
  ]);
  const acting = imports.filter(
    ({ file, specifier }) => pure.has(file) && /^(node:(?!crypto$)|ws$|pg$|pino$)/.test(specifier),
  );
  expect(acting.map(({ file, specifier }) => `${file} imports ${specifier}`)).toEqual([]);
});
