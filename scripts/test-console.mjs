import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { buildExecutables } from './bundle.mjs';
import { install, root } from './install.mjs';

await install();
await buildExecutables();

// In this process, so that a signal to it reaches vitest; what follows `npm run test:console --` goes there unchanged.
const vitest = join(root, 'node_modules/vitest/vitest.mjs');
const config = join(root, 'tests/console/browser/vitest.config.mts');
process.chdir(root);
process.argv = [process.argv[0], vitest, 'run', '--config', config, ...process.argv.slice(2)];
await import(pathToFileURL(vitest).href);
