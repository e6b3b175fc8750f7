import './ignored-signals.mjs';
import { buildExecutables } from './bundle.mjs';
import { install } from './install.mjs';

const args = process.argv.slice(2);
await install();
// Its cache would stay in the temporary folder.
process.env.TSX_DISABLE_CACHE = '1';
// In this process: a child would be one more that a signal can miss.
const { tsImport } = await import('tsx/esm/api');
const { parseOptions } = await tsImport('../examples/start-options.ts', import.meta.url);
const options = parseOptions(args);
// Help and wrong usage need no executables.
if (!('fault' in options || options.help)) await buildExecutables();
const { start } = await tsImport('../examples/start.ts', import.meta.url);
process.exitCode = await start(args);
