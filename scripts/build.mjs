import { buildExecutables } from './bundle.mjs';
import { install } from './install.mjs';

await install();
await buildExecutables();
