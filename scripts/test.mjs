import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { buildExecutables } from './bundle.mjs';
import { install, root } from './install.mjs';

await install();
await buildExecutables();

// In this process, so that a signal to it reaches vitest; what follows `npm test --` goes there unchanged.
const vitest = join(root, 'node_modules/vitest/vitest.mjs');
process.chdir(root);
process.argv = [process.argv[0], vitest, 'run', ...process.argv.slice(2)];
await import(pathToFileURL(vitest).href);
