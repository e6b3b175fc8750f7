import { buildExecutables } from './bundle.mjs';
import { install } from './install.mjs';

await install();
await buildExecutables();

// Its cache would stay in the temporary folder.
process.env.TSX_DISABLE_CACHE = '1';
const { register } = await import('tsx/esm/api');
register();
const { measureMemory } = await import('../tests/trust/memory/memory.ts');
process.exitCode = await measureMemory(process.argv.slice(2));
