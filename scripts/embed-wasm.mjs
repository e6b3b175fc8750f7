import { readFile } from 'node:fs/promises';
import { gzipSync } from 'node:zlib';

/**
 * An esbuild plugin: libpg-query reads its .wasm from beside its own source, which a single file has not.
 * The bytes go into the bundle, compressed, and the generated loader gets them through its `instantiateWasm` hook.
 */
export const embedWasm = {
  name: 'embed-wasm',
  setup(build) {
    build.onLoad({ filter: /[\\/]libpg-query[\\/]wasm[\\/]libpg-query\.js$/ }, async ({ path }) => {
      const source = await readFile(path, 'utf8');
      if (!source.includes('Module["instantiateWasm"]')) {
        throw new Error('cannot embed libpg-query: its loader no longer knows instantiateWasm');
      }
      return { contents: source + withEmbeddedBytes, loader: 'js' };
    });
    build.onLoad({ filter: /[\\/]libpg-query\.wasm$/ }, async ({ path }) => ({
      contents: gzipSync(await readFile(path), { level: 9 }),
      loader: 'binary',
    }));
  },
};

const withEmbeddedBytes = `
const wasm = require('./libpg-query.wasm');
const wasmBytes = require('node:zlib').gunzipSync(wasm.default ?? wasm);
module.exports = (options) => PgQueryModule({
  ...options,
  instantiateWasm: (imports, done) => {
    done(new WebAssembly.Instance(new WebAssembly.Module(wasmBytes), imports));
    return {};
  },
});
module.exports.default = module.exports;
`;
