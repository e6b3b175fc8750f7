import { installAndBuild } from './bundle.mjs';

await installAndBuild();
