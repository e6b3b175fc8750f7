import { buildExecutables } from './bundle.mjs';
import { install } from './install.mjs';

await install();
await buildExecutables();

// Its cache would stay in the temporary folder.
process.env.TSX_DISABLE_CACHE = '1';
const { register } = await import('tsx/esm/api');
register();
const { soak } = await import('../tests/trust/soak/soak.ts');
process.exitCode = await soak(process.argv.slice(2));
