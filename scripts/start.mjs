import { buildExecutables } from './bundle.mjs';
import { install } from './install.mjs';

await install();
await buildExecutables();

// Its cache would stay in the temporary folder.
process.env.TSX_DISABLE_CACHE = '1';
// In this process: a child would be one more that a signal can miss.
const { tsImport } = await import('tsx/esm/api');
const { start } = await tsImport('../examples/start.ts', import.meta.url);
process.exitCode = await start(process.argv.slice(2));
