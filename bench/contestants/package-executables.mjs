// Makes the executables of a checkout as its packages have them, and prints which Node.js is in them:
// node package-executables.mjs CHECKOUT FOLDER [NODE]
import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

const [checkout, folder, givenNode] = process.argv.slice(2);
/** Of the checkout itself, so that an older release is made as it was made then. */
const script = (name) => import(pathToFileURL(join(checkout, 'scripts', name)).href);

const { install } = await script('install.mjs');
await install();
const { buildExecutables } = await script('bundle.mjs');
const { findNode } = await script('packages/node-binary.mjs');
const { makeExecutables } = await script('packages/binaries.mjs');
const programs = (await buildExecutables())
  .map(({ output }) => ({ name: output.replace('dist/', ''), file: join(checkout, output), binarySbom: '' }))
  .filter(({ name }) => name !== 'svc');
const node = await findNode(givenNode);
mkdirSync(folder, { recursive: true });
makeExecutables({ work: folder, programs, licences: {}, node });
// The Node.js that they were made of.
rmSync(join(folder, 'node'));
process.stdout.write(JSON.stringify({ path: node.file, version: node.versions.node }));
