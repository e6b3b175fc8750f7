import { readFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { root } from './install.mjs';
import { bundledPackages } from './licences.mjs';

const TYPES = {
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
};
const BROWSERS = ['chrome109', 'firefox115', 'safari16'];

/**
 * Bundles the pages of a folder for browsers: one script, one style sheet and an icon, each named by what it holds, so
 * that it may be kept for ever. Resolves to the text that the executable embeds, and to the folders of the packages in it.
 */
export async function embedPages(folder) {
  const esbuild = await import('esbuild');
  const result = await esbuild.build({
    absWorkingDir: root,
    entryPoints: [`${folder}/main.tsx`, `${folder}/icon.svg`],
    write: false,
    bundle: true,
    metafile: true,
    outdir: 'pages',
    entryNames: 'assets/[name]-[hash]',
    loader: { '.svg': 'copy' },
    format: 'esm',
    target: BROWSERS,
    minify: true,
    legalComments: 'none',
    jsx: 'automatic',
    jsxImportSource: 'preact',
    logLevel: 'warning',
  });
  const files = {};
  let page = await readFile(join(root, folder, 'index.html'), 'utf8');
  for (const { path, contents } of result.outputFiles) {
    const name = `assets/${basename(path)}`;
    const extension = name.slice(name.lastIndexOf('.'));
    files[name] = {
      type: TYPES[extension],
      gzip: gzipSync(contents, { level: 9 }).toString('base64'),
    };
    page = page.replace(`{{${extension}}}`, name);
  }
  return { embedded: JSON.stringify({ page, files }), packages: bundledPackages(result.metafile) };
}
