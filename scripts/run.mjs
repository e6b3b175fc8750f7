// Runs what the file named first exports as `main`, with the built executables beside it: node scripts/run.mjs FILE [...]
import { pathToFileURL } from 'node:url';
import { resolve } from 'node:path';
import { installAndBuild } from './bundle.mjs';

const [file, ...args] = process.argv.slice(2);
await installAndBuild();
// Its cache would stay in the temporary folder.
process.env.TSX_DISABLE_CACHE = '1';
const { register } = await import('tsx/esm/api');
register();
const { main } = await import(pathToFileURL(resolve(file)).href);
// Left to end by itself, Node.js 20 has been seen to spin for ever after everything here was closed.
process.exit(await main(args));
