// Makes the package for npm as `npm run package` does, and finds the Node.js that executables are made of. Prints where both
// are, as JSON: node prepare.mjs FOLDER
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { buildExecutables } from '../../scripts/bundle.mjs';
import { readJson, root } from '../../scripts/install.mjs';
import { findNode } from '../../scripts/packages/node-binary.mjs';
import { makeNpmTarball } from '../../scripts/packages/npm-tarball.mjs';
import { sbom } from '../../scripts/packages/sbom.mjs';
import { sourceDate as readSourceDate } from '../../scripts/packages/stage.mjs';

const [out = ''] = process.argv.slice(2);
const { version, license: licence } = readJson('package.json');
const sourceDate = readSourceDate(process.env);
const programs = (await buildExecutables()).map(({ output, packages }) => {
  const name = output.replace('dist/', '');
  const inside = { version, licence, sourceDate, program: name, packages };
  return { name, packages, file: join(root, output), sbom: sbom(inside) };
});
const licences = {
  LICENSE: { file: join(root, 'LICENSE') },
  THIRD_PARTY_LICENSES: { file: join(root, 'dist/THIRD_PARTY_LICENSES') },
};
const work = join(out, 'work');
mkdirSync(work);
const [{ file }] = await makeNpmTarball({ work, out, programs, licences });
const node = await findNode();
process.stdout.write(
  JSON.stringify({ tarball: join(out, file), node: { path: node.file, version: node.versions.node } }),
);
