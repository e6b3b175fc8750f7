import { buildExecutables } from './bundle.mjs';
import { install } from './install.mjs';

await install();
await buildExecutables();

process.env.TSX_DISABLE_CACHE = '1';
const { tsImport } = await import('tsx/esm/api');
const { benchMcp } = await tsImport('../bench/mcp-cost.ts', import.meta.url);
process.exitCode = await benchMcp(process.argv.slice(2));
